import assert from "node:assert/strict";
import { test } from "node:test";
import type { QueryDetails } from "../src/api/types.ts";
import { classes, within } from "../src/format/histogram.ts";
import { layout } from "../src/graph/layout.ts";
import { planShape, stepRates } from "../src/graph/steps.ts";

const details = (timeMs: number, read: number): QueryDetails => ({
  id: "CTAS_T_1", state: "RUNNING", timeMs, latencies: {}, pauses: null, transitions: [],
  logical: [{ id: "0", title: "Source", details: [], inputs: [] }, { id: "1", title: "Aggregate", details: [], inputs: ["0"] }],
  subTopologies: [
    { number: 0, execution: "", state: null, checkpoints: [], steps: [
      { id: "0", title: "Stream Source", details: [], inputs: [], topic: "a", volume: { records: read, bytes: 1 } },
      { id: "1", title: "Sink", details: [], inputs: ["0"], topic: "between" },
    ] },
    { number: 1, execution: "", state: null, checkpoints: [], steps: [
      { id: "0", title: "Stream Source", details: [], inputs: [], topic: "between" },
      { id: "1", title: "Sink", details: [], inputs: ["0"], topic: "T" },
    ] },
  ],
});

test("a plan hangs together at the topics between its sub-topologies", () => {
  const shape = planShape(details(0, 0), "physical");
  assert.deepEqual(shape.lines.map(({ source, target }) => `${source}>${target}`), ["0.0>0.1", "1.0>1.1", "0.1>1.0"]);
  const placed = layout(shape);
  assert.ok(placed.boxes.get("0.1")!.x < placed.boxes.get("1.0")!.x);
  assert.equal(planShape(details(9, 9), "physical").key, shape.key);
  assert.deepEqual(planShape(details(0, 0), "logical").boxes.map((box) => box.name), ["Source", "Aggregate"]);
});

test("rates are differences of two answers", () => {
  assert.deepEqual([...stepRates(details(1000, 50), details(6000, 150))], [["0.0", 20]]);
  assert.deepEqual([...stepRates(details(1000, 50), details(2000, 7))], [["0.0", 7]]);
  assert.equal(stepRates(null, details(1, 1)).size, 0);
  assert.equal(stepRates({ ...details(0, 1), id: "OTHER" }, details(1000, 5)).size, 0);
});

test("a histogram from its first class to its last", () => {
  const times = { bounds: [0.001, 0.01, 0.1, 1], counts: [0, 3, 0, 1, 0], sumSeconds: 1 };
  assert.deepEqual(classes(times).map(({ label, count }) => `${label}: ${count}`), ["up to 10 ms: 3", "up to 100 ms: 0", "up to 1 s: 1"]);
  assert.deepEqual([within(times, 0.5), within(times, 0.95)], [0.01, 1]);
  assert.equal(within({ ...times, counts: [0, 0, 0, 0, 2] }, 0.5), null);
  assert.equal(classes({ ...times, counts: [0, 0, 0, 0, 0] }).length, 0);
});
