import assert from "node:assert/strict";
import { test } from "node:test";
import type { Graph, GraphNode } from "../src/api/types.ts";
import { flows, lineKey, pace, thickness } from "../src/graph/flows.ts";
import { shapeOf } from "../src/graph/shape.ts";

const figures = { arrivingPerS: null, readPerS: 30, writtenPerS: 8, lagRecords: 0, arrivedRecords: null, lagSeconds: 0, latencySeconds: null, errors: {}, failures: 0, stateRows: null, stateBytes: null };
const source = (name: string, arrivingPerS: number | null): GraphNode => ({ id: `stream:${name}`, kind: "STREAM", name, topic: name, topicFigures: { arrivingPerS, records: 1 } });
const query = (name: string, more: Partial<GraphNode> = {}): GraphNode => ({ id: `query:${name}`, kind: "QUERY", name, state: "RUNNING", figures, ...more });

function flow(nodes: GraphNode[], ...lines: [string, string][]) {
  const graph: Graph = { timeMs: 1, nodes, edges: lines.map(([from, to]) => ({ source: from, target: to })), culprits: [], warnings: [] };
  const found = flows(shapeOf(graph, { topics: false }));
  return lines.map(([from, to]) => found.get(lineKey({ source: from, target: to })));
}

test("what a query reads and writes goes along its lines", () => {
  const found = flow([source("A", 50), query("Q"), source("B", 9)], ["stream:A", "query:Q"], ["query:Q", "stream:B"]);
  assert.deepEqual(found, [{ perS: 30, looks: "good" }, { perS: 8, looks: "good" }]);
});

test("of several sources of a query each gives what comes there, and no more than it reads", () => {
  const found = flow([source("A", 50), source("B", 2), source("C", null), query("Q")], ["stream:A", "query:Q"], ["stream:B", "query:Q"], ["stream:C", "query:Q"]);
  assert.deepEqual(found.map((one) => one?.perS), [30, 2, 30]);
});

test("lines before a query have the color of how long its records wait, and of whether it has failed", () => {
  const looks = (more: Partial<GraphNode>) => flow([source("A", 1), query("Q", more)], ["stream:A", "query:Q"])[0]?.looks;
  assert.deepEqual([5, 11, 61].map((lagSeconds) => looks({ figures: { ...figures, lagSeconds } })), ["good", "warn", "bad"]);
  assert.equal(looks({ newVersionOf: "T", figures: { ...figures, lagSeconds: 61 } }), "good");
  assert.deepEqual([looks({ state: "ERROR" }), looks({ state: "PAUSED" })], ["bad", ""]);
});

test("more records make a line thicker and faster; none make it stand still", () => {
  assert.ok(thickness(null) === thickness(0) && thickness(0) < thickness(10) && thickness(10) < thickness(1000) && thickness(1e9) < 9);
  assert.deepEqual([pace(null), pace(0)], [null, null]);
  assert.ok(pace(1000)! < pace(1)!);
});
