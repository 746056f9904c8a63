// Where boxes and lines are drawn, left to right.
import dagre from "@dagrejs/dagre";
import type { Box, Shape } from "./shape.ts";

export interface Placed {
  width: number;
  height: number;
  boxes: Map<string, { x: number; y: number; width: number; height: number }>;
  lines: { source: string; target: string; path: string }[];
}

/** Of a box, pixels: what is not text, a wide character of a name, and the most. */
const EDGES = 32;
const CHARACTER = 11;
const MAX_WIDTH = 440;
/** How many characters of a name the widest box has place for. */
export const MOST_CHARACTERS = Math.floor((MAX_WIDTH - EDGES) / CHARACTER);

/** The size of a box, pixels. */
export function sizeOf(box: Box): { width: number; height: number } {
  if (box.kind === "STEP") return { width: 200, height: 74 };
  const [least, height] = box.kind === "QUERY" ? [250, 90] : [190, 72];
  return { width: Math.min(MAX_WIDTH, Math.max(least, EDGES + box.name.length * CHARACTER)), height };
}

/** The gap between parts that do not hang together. */
const GAP = 28;
/** In parts with more boxes, less time is spent on crossings of lines. */
const MANY = 500;

/** The layout of a shape: parts that do not hang together one below the other. */
export function layout(shape: Shape): Placed {
  const placed: Placed = { width: 0, height: 0, boxes: new Map(), lines: [] };
  for (const part of parts(shape)) {
    const one = layoutOfPart(part, placed.height === 0 ? 0 : placed.height + GAP);
    for (const [id, box] of one.boxes) placed.boxes.set(id, box);
    placed.lines.push(...one.lines);
    placed.width = Math.max(placed.width, one.width);
    placed.height = one.height;
  }
  return placed;
}

/** The parts of a shape that hang together, in the order of their first boxes. */
function parts(shape: Shape): Shape[] {
  const neighbours = new Map<string, string[]>(shape.boxes.map((box) => [box.id, []]));
  for (const { source, target } of shape.lines) {
    neighbours.get(source)!.push(target);
    neighbours.get(target)!.push(source);
  }
  const partOf = new Map<string, Shape>();
  const found: Shape[] = [];
  for (const { id } of shape.boxes) {
    if (partOf.has(id)) continue;
    const part: Shape = { boxes: [], lines: [], key: id };
    found.push(part);
    partOf.set(id, part);
    const waiting = [id];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      for (const one of neighbours.get(next)!) {
        if (!partOf.has(one)) {
          partOf.set(one, part);
          waiting.push(one);
        }
      }
    }
  }
  for (const box of shape.boxes) partOf.get(box.id)!.boxes.push(box);
  for (const line of shape.lines) partOf.get(line.source)!.lines.push(line);
  return found;
}

/** The layout of a part, from `top` on; its height is where it ends. */
function layoutOfPart(shape: Shape, top: number): Placed {
  const made = new dagre.graphlib.Graph();
  made.setGraph({ rankdir: "LR", nodesep: 18, ranksep: 72, marginx: 16, marginy: 16, ranker: "tight-tree" });
  made.setDefaultEdgeLabel(() => ({}));
  for (const box of shape.boxes) made.setNode(box.id, sizeOf(box));
  for (const line of shape.lines) made.setEdge(line.source, line.target);
  dagre.layout(made, { disableOptimalOrderHeuristic: shape.boxes.length > MANY });
  const { width = 0, height = 0 } = made.graph() as { width?: number; height?: number };
  const boxes: Placed["boxes"] = new Map();
  for (const box of shape.boxes) {
    const { x, y, width: w, height: h } = made.node(box.id) as { x: number; y: number; width: number; height: number };
    // boxes of one rank begin at the same place
    const widest = Math.max(...shape.boxes.map((one) => made.node(one.id) as { x: number; width: number }).filter((one) => one.x === x).map((one) => one.width));
    boxes.set(box.id, { x: x - widest / 2, y: top + y - h / 2, width: w, height: h });
  }
  const port = ports(shape.lines, boxes);
  const lines = shape.lines.map(({ source, target }) => {
    const edge = made.edge(source, target) as { points: { x: number; y: number }[] };
    // whatever way dagre found between its ends
    const ends = [port(source, target, "source"), port(source, target, "target")] as const;
    // dagre has a point beside each box and one between two ranks: only lines past boxes need those in the middle
    const between = edge.points.length > 3 ? edge.points.slice(1, -1).filter((_, index) => index % 2 === 1) : [];
    return { source, target, path: curve([ends[0], ...between.map(({ x, y }) => ({ x, y: top + y })), ends[1]]) };
  });
  return { width: finite(width), height: top + finite(height), boxes, lines };
}

/** Where lines leave and reach boxes: each at a place of its own, in the order of the other ends. */
function ports(lines: Shape["lines"], boxes: Placed["boxes"]) {
  const middle = (id: string) => boxes.get(id)!.y + boxes.get(id)!.height / 2;
  return (source: string, target: string, end: "source" | "target") => {
    const [here, other] = end === "source" ? [source, "target" as const] : [target, "source" as const];
    const beside = lines.filter((line) => line[end] === here).map((line) => line[other]).sort((a, b) => middle(a) - middle(b));
    const box = boxes.get(here)!;
    const share = (beside.indexOf(other === "target" ? target : source) + 1) / (beside.length + 1);
    return { x: end === "source" ? box.x + box.width : box.x, y: box.y + box.height * share };
  };
}

function finite(value: number): number {
  return Number.isFinite(value) ? value : 0;
}

/** A smooth line through points. */
export function curve(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points.map(({ x, y }) => ({ x: Math.round(x), y: Math.round(y) }));
  if (first === undefined) return "";
  let path = `M${first.x},${first.y}`;
  let before = first;
  for (const point of rest) {
    const middle = Math.round((before.x + point.x) / 2);
    path += `C${middle},${before.y} ${middle},${point.y} ${point.x},${point.y}`;
    before = point;
  }
  return path;
}
