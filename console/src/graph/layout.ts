// Where boxes and lines are drawn, left to right.
import dagre from "@dagrejs/dagre";
import type { Box, Shape } from "./shape.ts";

export interface Placed {
  width: number;
  height: number;
  boxes: Map<string, { x: number; y: number; width: number; height: number }>;
  lines: { source: string; target: string; points: Point[] }[];
}

interface Point {
  x: number;
  y: number;
}

/** A box of the flow, pixels: all are equal, and stand in the columns and rows of one grid. */
const BOX = { width: 192, height: 100 };
const GAP = { x: 36, y: 14 };
/** A step of a plan, pixels: its width, the height of its title and figures, and of a line of what it says. */
const STEP = { width: 248, height: 54, line: 17 };
/** How many characters such a line has place for. */
const LINE_CHARACTERS = 30;
/** In parts with more boxes, less time is spent on crossings of lines. */
const MANY = 500;

/** The size of a box, pixels; a step is as high as what it says. */
export function sizeOf(box: Box): { width: number; height: number } {
  if (box.says === undefined) return BOX;
  return { width: STEP.width, height: STEP.height + STEP.line * box.says.reduce((sum, text) => sum + linesOf(text), 0) };
}

/** How many lines a text takes, where words that do not fit begin a new one. */
function linesOf(text: string): number {
  let [lines, used] = [1, 0];
  for (const { length } of text.split(" ")) {
    if (used > 0 && used + 1 + length > LINE_CHARACTERS) [lines, used] = [lines + 1, 0];
    used += (used > 0 ? 1 : 0) + length;
    for (; used > LINE_CHARACTERS; used -= LINE_CHARACTERS) lines++;
  }
  return lines;
}

/** The layouts of the parts of a shape that do not hang together, which take most of the time. */
export function layoutOfParts(shape: Shape): Placed[] {
  return parts(shape).map(layoutOfPart);
}

/** The layout of a shape in a width, pixels: parts that do not hang together are side by side as far as that has place. */
export function layout(shape: Shape, width = 0): Placed {
  return arranged(layoutOfParts(shape), width);
}

/** The layout of parts in a window, at the largest of some scales at which it is whole; at the least one, whatever it takes. */
export function fitted(found: Placed[], scales: readonly number[], width: number, height: number): { placed: Placed; scale: number } {
  const [least, ...larger] = [...scales].sort((a, b) => a - b).map((scale) => ({ placed: arranged(found, width / scale), scale }));
  return larger.findLast(({ placed, scale }) => placed.width * scale <= width && placed.height * scale <= height) ?? least!;
}

/** Parts in a width: the widest first, each at the highest place where its columns are below what is there, else the one most to the left. */
function arranged(all: Placed[], width: number): Placed {
  const placed: Placed = { width: 0, height: 0, boxes: new Map(), lines: [] };
  /** Of each column, where what is there ends. */
  const ends: number[] = [];
  for (const part of all.toSorted((a, b) => b.width - a.width)) {
    const column = ([...part.boxes.values()][0]?.width ?? 0) + GAP.x;
    const taken = columns(part, column);
    const topAt = (first: number) => Math.max(0, ...[...taken].map(([at, { top }]) => (ends[first + at] ?? 0) - top));
    const places = Math.max(0, Math.floor((width - part.width) / column)) + 1;
    const tops = Array.from({ length: places }, (_, first) => topAt(first));
    const top = Math.min(...tops);
    const first = tops.indexOf(top);
    const left = first * column;
    for (const [at, { bottom }] of taken) ends[first + at] = top + bottom;
    for (const [id, box] of part.boxes) placed.boxes.set(id, { ...box, x: left + box.x, y: top + box.y });
    placed.lines.push(...part.lines.map((line) => ({ ...line, points: line.points.map(({ x, y }) => ({ x: left + x, y: top + y })) })));
    placed.width = Math.max(placed.width, left + part.width);
    placed.height = Math.max(placed.height, top + part.height);
  }
  return placed;
}

/** From where to where boxes and lines of a part are in each of its columns of a width. */
function columns({ boxes, lines }: Placed, width: number): Map<number, { top: number; bottom: number }> {
  const found = new Map<number, { top: number; bottom: number }>();
  const take = (x: number, top: number, bottom: number) => {
    const at = Math.floor(x / width);
    const before = found.get(at) ?? { top, bottom };
    found.set(at, { top: Math.min(top, before.top), bottom: Math.max(bottom, before.bottom) });
  };
  for (const box of boxes.values()) take(box.x, box.y - GAP.y / 2, box.y + box.height + GAP.y / 2);
  for (const { x, y } of lines.flatMap(({ points }) => points.slice(1, -1))) take(x, y, y);
  return found;
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

/** The layout of a part, with half a gap around it. */
function layoutOfPart(shape: Shape): Placed {
  const made = new dagre.graphlib.Graph();
  made.setGraph({ rankdir: "LR", nodesep: GAP.y, ranksep: GAP.x, marginx: GAP.x / 2, marginy: GAP.y / 2, ranker: "tight-tree" });
  made.setDefaultEdgeLabel(() => ({}));
  for (const box of shape.boxes) made.setNode(box.id, { ...sizeOf(box) });
  for (const line of shape.lines) made.setEdge(line.source, line.target);
  dagre.layout(made, { disableOptimalOrderHeuristic: shape.boxes.length > MANY });
  const found = shape.boxes.map(({ id }) => ({ id, ...(made.node(id) as { x: number; y: number; width: number; height: number }) }));
  const row = rows(found.map(({ y }) => y));
  const isGrid = shape.boxes.every((box) => box.says === undefined);
  const boxes: Placed["boxes"] = new Map(found.map(({ id, x, y, width, height }) => [id, {
    x: x - width / 2, y: isGrid ? GAP.y / 2 + row(y) * (BOX.height + GAP.y) : y - height / 2, width, height,
  }]));
  /** Past the boxes of its column: between those that dagre has above and below it. */
  const past = ({ x, y }: Point): Point => {
    const column = found.filter((one) => Math.abs(one.x - x) < one.width / 2);
    const above = column.filter((one) => one.y < y).map(({ id }) => boxes.get(id)!.y + boxes.get(id)!.height);
    const below = column.filter((one) => one.y >= y).map(({ id }) => boxes.get(id)!.y);
    const [top, bottom] = [Math.max(...above), Math.min(...below)];
    return { x, y: above.length === 0 ? bottom - GAP.y / 2 : below.length === 0 ? top + GAP.y / 2 : (top + bottom) / 2 };
  };
  const port = ports(shape.lines, boxes);
  const lines = shape.lines.map(({ source, target }) => {
    const edge = made.edge(source, target) as { points: Point[] };
    // dagre has a point beside each box and one between two ranks: only lines past boxes need those in the middle
    const between = edge.points.length > 3 ? edge.points.slice(1, -1).filter((_, index) => index % 2 === 1) : [];
    // whatever way dagre found between its ends
    return { source, target, points: [port(source, target, "source"), ...(isGrid ? between.map(past) : between), port(source, target, "target")] };
  });
  const sides = [...boxes.values()];
  return { width: Math.max(0, ...sides.map((box) => box.x + box.width + GAP.x / 2)), height: Math.max(0, ...sides.map((box) => box.y + box.height + GAP.y / 2)), boxes, lines };
}

/** The row of a height, where those closer than half a row share one and rows without boxes are left out. */
function rows(heights: number[]): (y: number) => number {
  const round = (y: number) => Math.round(y / (BOX.height + GAP.y));
  const used = [...new Set(heights.map(round))].sort((a, b) => a - b);
  return (y) => used.indexOf(round(y));
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

/** A smooth line through points. */
export function curve(points: Point[]): string {
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
