// Where the arrow keys lead from a box of the graph.
import type { Placed } from "./layout.ts";
import type { Box, Shape } from "./shape.ts";

/** Boxes that begin this close to each other are below each other, pixels. */
const COLUMN_PX = 60;

/** Along a line with left and right, to the next box above or below with up and down; undefined: there is none, or it is another key. */
export function neighbour(id: string, key: string, { lines }: Shape, { boxes }: Placed): string | undefined {
  const from = boxes.get(id);
  if (from === undefined) return undefined;
  const middle = (box: { y: number; height: number }) => box.y + box.height / 2;
  const nearest = (ids: string[]) =>
    ids.toSorted((a, b) => Math.abs(middle(boxes.get(a)!) - middle(from)) - Math.abs(middle(boxes.get(b)!) - middle(from)))[0];
  switch (key) {
    case "ArrowRight": return nearest(lines.filter((line) => line.source === id).map((line) => line.target));
    case "ArrowLeft": return nearest(lines.filter((line) => line.target === id).map((line) => line.source));
    case "ArrowDown":
    case "ArrowUp": {
      const sign = key === "ArrowDown" ? 1 : -1;
      const beside = [...boxes].filter(([, box]) => Math.abs(box.x - from.x) < COLUMN_PX && (middle(box) - middle(from)) * sign > 0);
      return nearest(beside.map(([other]) => other));
    }
  }
  return undefined;
}

/** The boxes from column to column, each from its top. */
export function readingOrder({ boxes }: Shape, placed: Placed): Box[] {
  const at = (box: Box) => placed.boxes.get(box.id)!;
  return boxes.toSorted((a, b) => at(a).x - at(b).x || at(a).y - at(b).y);
}
