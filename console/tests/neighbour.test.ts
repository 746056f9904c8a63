import assert from "node:assert/strict";
import { test } from "node:test";
import { layout } from "../src/graph/layout.ts";
import { neighbour } from "../src/graph/neighbour.ts";
import type { Shape } from "../src/graph/shape.ts";

test("arrow keys follow lines, and lead up and down", () => {
  const shape: Shape = {
    boxes: ["a", "b", "c", "d"].map((id) => ({ id, kind: "STREAM", name: id, nodes: [] })),
    lines: [{ source: "a", target: "b" }, { source: "a", target: "c" }],
    key: "",
  };
  const placed = layout(shape);
  const to = (id: string, key: string) => neighbour(id, key, shape, placed);
  assert.ok(["b", "c"].includes(to("a", "ArrowRight")!));
  assert.equal(to("c", "ArrowLeft"), "a");
  assert.deepEqual([to("b", "ArrowDown") ?? to("b", "ArrowUp"), to("c", "ArrowDown") ?? to("c", "ArrowUp")], ["c", "b"]);
  assert.equal(to("a", "ArrowDown"), "d");
  assert.deepEqual([to("a", "ArrowLeft"), to("a", "x"), to("nope", "ArrowUp")], [undefined, undefined, undefined]);
});
