import assert from "node:assert/strict";
import { test } from "node:test";
import { keyOfResult } from "../src/sql/plan.ts";
import { latest, LiveRows, MOST_CHARACTERS, MOST_ROWS } from "../src/sql/live.ts";

test("the latest row of each key keeps its place; a deletion removes it", () => {
  const live = new LiveRows([0]);
  for (const row of [["a", 1], ["b", 2], ["a", 3]]) live.add(row, false);
  assert.deepEqual(live.rows(), [["a", 3], ["b", 2]]);
  live.add(["a", null], true);
  assert.deepEqual(live.rows(), [["b", 2]]);
  assert.equal(live.came, 4);
});

test("no more rows than the most", () => {
  for (const keys of [null, [0]]) {
    const live = new LiveRows(keys);
    for (let i = 0; i < 3 * MOST_ROWS; i++) live.add([i], false);
    assert.equal(live.rows().length, MOST_ROWS);
    assert.deepEqual(live.rows().at(-1), [3 * MOST_ROWS - 1]);
  }
});

test("the answer of a pull query keeps its order, and its beginning", () => {
  const live = new LiveRows(null, false);
  for (let i = 0; i < MOST_ROWS + 5; i++) live.add([i], false);
  assert.deepEqual([live.rows()[0], live.rows().at(-1), live.rows().length, live.came], [[0], [MOST_ROWS - 1], MOST_ROWS, MOST_ROWS + 5]);
  assert.equal(live.isNewestFirst, false);
  assert.deepEqual([new LiveRows(null), new LiveRows([0])].map((one) => one.isNewestFirst), [true, false]);
});

test("no more text than the most, but the newest row", () => {
  const size = MOST_CHARACTERS / 10;
  for (const keys of [null, [0]]) {
    const live = new LiveRows(keys);
    for (let i = 0; i < 30; i++) live.add([i, "x".repeat(size)], false);
    assert.deepEqual(live.rows().map(([key]) => key), [21, 22, 23, 24, 25, 26, 27, 28, 29]);
    live.add([30, { a: "x".repeat(2 * MOST_CHARACTERS) }], false);
    assert.deepEqual(live.rows().map(([key]) => key), [30]);
  }
  assert.equal(latest(Array<string>(30).fill("x".repeat(size))).length, 10);
  assert.equal(latest(Array<string>(3 * MOST_ROWS).fill("x")).length, MOST_ROWS);
});

const plan = (key: string, kind: string, window = "") =>
  `Logical plan\n  Project | Key: ${key} | Values: N\n    Aggregate | COUNT(*)${window}\n\nPhysical plan\n > [ SINK ] | x\n    > [ TRANSIENT SELECT ] | y\n        > [ ${kind} SELECT ] | z`;
const fields = (...names: string[]) => names.map((name) => ({ name, schema: { type: "STRING" } }));

test("the key of a result, from its plan", () => {
  assert.deepEqual(keyOfResult({ executionPlan: plan("A, `b`", "TABLE"), fields: fields("A", "b", "N") }, false), ["A", "b"]);
  assert.deepEqual(keyOfResult({ executionPlan: plan("A", "STREAM"), fields: fields("A", "N") }, false), []);
  assert.deepEqual(keyOfResult({ executionPlan: plan("A", "TABLE"), fields: fields("N") }, false), []);
});

test("rows of windows are told apart only if the windows are there", () => {
  const executionPlan = plan("A", "TABLE", " | Window: TUMBLING (SIZE 1 MINUTES)");
  assert.deepEqual(keyOfResult({ executionPlan, fields: fields("A", "N") }, false), []);
  assert.deepEqual(keyOfResult({ executionPlan, fields: fields("A", "WINDOWSTART", "N") }, false), ["A", "WINDOWSTART"]);
  assert.deepEqual(keyOfResult({ executionPlan: plan("A", "TABLE"), fields: fields("A", "N") }, true), []);
});
