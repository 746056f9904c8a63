import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entity } from "../src/api/types.ts";
import { explained } from "../src/sql/explained.ts";

const RECORD = { topic: "a", partition: 0, offset: 7, timestamp: 0, reason: null, columns: { K: "x" }, origin: { table: "shop.orders" } };

test("a row is a tree of records, the first ones of each query", () => {
  const below = { name: "S", queryId: "Q1", rows: 1, used: 22, records: Array(22).fill(RECORD), notes: ["one note"], upstream: [] };
  const entity = { "@type": "row_explanation", statementText: "", warnings: [], name: "T", queryId: "Q2", used: 1, records: [RECORD], notes: [], upstream: [below] };
  const tree = explained(entity as unknown as Entity)!;
  assert.equal(tree.label, "T (Q2): 1 record");
  assert.equal(tree.below[0]!.label, "a 0/7 1970-01-01T00:00:00Z {\"K\":\"x\"} table shop.orders");
  assert.deepEqual(tree.below[1]!.below.slice(20).map((one) => one.label), ["and 2 more", "one note"]);
});

test("a missing row is a tree of what was dropped, and why", () => {
  const records = [{ ...RECORD, reason: "WHERE false" }];
  const entity = { "@type": "row_explanation", statementText: "", warnings: [], name: "T", queryId: "Q2", used: 0, dropped: [{ reason: "WHERE false", count: 1 }], records, notes: [], upstream: [] };
  const [record, lost] = explained(entity as unknown as Entity)!.below;
  assert.match(record!.label, /dropped: WHERE false$/);
  assert.equal(lost!.label, "1 record dropped: WHERE false");
});

test("a record that no query reads", () => {
  const entity = { "@type": "record_explanation", statementText: "", warnings: [], names: ["S"], record: { ...RECORD, timestamp: null, columns: null, origin: undefined }, queries: [], notes: ["The record is gone."] };
  const { label, below } = explained(entity as unknown as Entity)!;
  assert.deepEqual([label, ...below.map((one) => one.label)], ["a 0/7 –", "No query reads S.", "The record is gone."]);
});

test("a record is a tree of what it has changed", () => {
  const below = { name: "U", queryId: "Q2", outcome: "dropped", reasons: ["WHERE false"], changed: 0, rows: [], sinks: [], notes: [], below: [] };
  const first = { name: "T", queryId: "Q1", outcome: "changed", reasons: [], changed: 1, rows: [{ partition: 0, offset: 3, before: null, after: { N: 1 } }], sinks: ["LAKE"], notes: [], below: [below] };
  const entity = { "@type": "record_explanation", statementText: "", warnings: [], record: RECORD, queries: [first], notes: [] };
  const [branch] = explained(entity as unknown as Entity)!.below;
  assert.equal(branch!.label, "T (Q1): 1 row changed, in sink LAKE");
  assert.deepEqual(branch!.below.map((one) => one.label), ["0/3 – → {\"N\":1}", "U (Q2): dropped"]);
});

test("other answers are no trees", () => {
  assert.equal(explained({ "@type": "queries", statementText: "", warnings: [] }), null);
});
