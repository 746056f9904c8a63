// Where boxes and lines are drawn, left to right.
import dagre from "@dagrejs/dagre";
import type { Box, Shape } from "./shape.ts";

export interface Placed {
  width: number;
  height: number;
  boxes: Map<string, { x: number; y: number; width: number; height: number }>;
  lines: { source: string; target: string; path: string }[];
}

/** The size of a box, pixels. */
export function sizeOf(box: Box): { width: number; height: number } {
  return box.kind === "QUERY" ? { width: 248, height: 96 } : { width: 212, height: 52 };
}

/** The layout of a shape. */
export function layout(shape: Shape): Placed {
  const made = new dagre.graphlib.Graph();
  made.setGraph({ rankdir: "LR", nodesep: 18, ranksep: 72, marginx: 16, marginy: 16, ranker: "longest-path" });
  made.setDefaultEdgeLabel(() => ({}));
  for (const box of shape.boxes) made.setNode(box.id, sizeOf(box));
  for (const line of shape.lines) made.setEdge(line.source, line.target);
  dagre.layout(made);
  const { width = 0, height = 0 } = made.graph() as { width?: number; height?: number };
  const boxes: Placed["boxes"] = new Map();
  for (const box of shape.boxes) {
    const { x, y, width: w, height: h } = made.node(box.id) as { x: number; y: number; width: number; height: number };
    boxes.set(box.id, { x: x - w / 2, y: y - h / 2, width: w, height: h });
  }
  const lines = shape.lines.map(({ source, target }) => {
    const edge = made.edge(source, target) as { points: { x: number; y: number }[] };
    const [from, to] = [boxes.get(source)!, boxes.get(target)!];
    // from the middle of one side to the middle of the other, whatever way dagre found between
    const ends = [{ x: from.x + from.width, y: from.y + from.height / 2 }, { x: to.x, y: to.y + to.height / 2 }] as const;
    return { source, target, path: curve([ends[0], ...edge.points.slice(1, -1).filter(({ x }) => x > ends[0].x && x < ends[1].x), ends[1]]) };
  });
  return { width: finite(width), height: finite(height), boxes, lines };
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
