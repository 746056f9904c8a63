import assert from "node:assert/strict";
import { test } from "node:test";
import type { QueryDetails } from "../src/api/types.ts";
import { classes, within } from "../src/format/histogram.ts";
import { layout } from "../src/graph/layout.ts";
import { planShape, stepRates } from "../src/graph/steps.ts";

const details = (timeMs: number, read: number): QueryDetails => ({
  id: "CTAS_T_1", state: "RUNNING", timeMs, latencies: {}, reached: {}, pauses: null, graces: null, transitions: [],
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

const steps = (read: number, written: number | null, titles: string[]): QueryDetails => ({
  ...details(0, 0),
  timeMs: read * 10,
  subTopologies: [{
    number: 0, execution: "", state: null, checkpoints: [],
    steps: [
      { id: "0", title: "Stream Source", details: [], inputs: [], topic: "a", volume: { records: read, bytes: 1 } },
      ...titles.map((title, at) => ({ id: String(at + 1), title, details: [], inputs: [String(at)] })),
      { id: "9", title: "Sink", details: [], inputs: [String(titles.length)], topic: "T", ...(written === null ? {} : { volume: { records: written, bytes: 1 } }) },
    ],
  }],
});

const ratesOf = (before: QueryDetails | null, now: QueryDetails) =>
  [...stepRates(before, now)].map(([id, rate]) => `${id}: ${rate.in} > ${rate.out}`);

test("rates are differences of two answers", () => {
  assert.deepEqual(ratesOf(details(1000, 50), details(6000, 150)).slice(0, 2), ["0.0: null > 20", "0.1: 20 > null"]);
  assert.deepEqual(ratesOf(details(1000, 50), details(2000, 7))[0], "0.0: null > 7");
  assert.equal(stepRates(null, details(1, 1)).size, 0);
  assert.equal(stepRates({ ...details(0, 1), id: "OTHER" }, details(1000, 5)).size, 0);
});

test("what lies between sources and sinks is known as far as rows are neither added nor dropped", () => {
  const plan = ["Stream Select Key", "Stream Filter", "Stream Select"];
  assert.deepEqual(ratesOf(steps(100, 10, plan), steps(200, 40, plan)), ["0.0: null > 100", "0.1: 100 > 100", "0.2: 100 > 30", "0.3: 30 > 30", "0.9: 30 > 30"]);
  assert.deepEqual(ratesOf(steps(100, null, plan), steps(200, null, plan)), ["0.0: null > 100", "0.1: 100 > 100", "0.2: 100 > null", "0.3: null > null", "0.9: null > null"]);
});

test("a histogram from its first class to its last", () => {
  const times = { bounds: [0.001, 0.01, 0.1, 1], counts: [0, 3, 0, 1, 0], sumSeconds: 1 };
  assert.deepEqual(classes(times).map(({ label, count }) => `${label}: ${count}`), ["up to 10 ms: 3", "up to 100 ms: 0", "up to 1 s: 1"]);
  assert.deepEqual([0.25, 0.75, 0.95].map((share) => within(times, share)?.toFixed(3)), ["0.004", "0.010", "0.820"]);
  assert.equal(within({ ...times, counts: [0, 0, 0, 0, 2] }, 0.5), null);
  assert.equal(classes({ ...times, counts: [0, 0, 0, 0, 0] }).length, 0);
  // many are few
  const bounds = Array.from({ length: 33 }, (_, at) => at + 1);
  const few = classes({ bounds, counts: [...bounds.map(() => 1), 0] }).map(({ label, count }) => `${label}: ${count}`);
  assert.deepEqual([few.length, few[0], few.at(-1)], [9, "up to 4 s: 4", "up to 33 s: 1"]);
});
