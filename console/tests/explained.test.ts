import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entity } from "../src/api/types.ts";
import { explained } from "../src/sql/explained.ts";

const RECORD = { topic: "a", partition: 0, offset: 7, timestamp: 0, reason: null, columns: { K: "x" }, origin: { table: "shop.orders" } };

test("a row is a tree of records, the first ones of each query", () => {
  const below = { name: "S", queryId: "Q1", used: 7, records: Array(7).fill(RECORD), notes: ["one note"], upstream: [] };
  const entity = { "@type": "row_explanation", statementText: "", warnings: [], name: "T", queryId: "Q2", used: 1, records: [RECORD], notes: [], upstream: [below] };
  const tree = explained(entity as unknown as Entity)!;
  assert.equal(tree.label, "T (Q2): of 1 records");
  assert.equal(tree.below[0]!.label, "a 0/7 {\"K\":\"x\"} table shop.orders");
  assert.deepEqual(tree.below[1]!.below.slice(5).map((one) => one.label), ["and 2 more", "one note"]);
});

test("a record is a tree of what it has changed", () => {
  const below = { name: "U", queryId: "Q2", outcome: "dropped", reasons: ["WHERE false"], changed: 0, rows: [], sinks: [], notes: [], below: [] };
  const first = { name: "T", queryId: "Q1", outcome: "changed", reasons: [], changed: 1, rows: [{ before: null, after: { N: 1 } }], sinks: ["LAKE"], notes: [], below: [below] };
  const entity = { "@type": "record_explanation", statementText: "", warnings: [], record: RECORD, queries: [first], notes: [] };
  const [branch] = explained(entity as unknown as Entity)!.below;
  assert.equal(branch!.label, "T (Q1): 1 changed, in sink LAKE");
  assert.deepEqual(branch!.below.map((one) => one.label), ["– → {\"N\":1}", "U (Q2): dropped"]);
});

test("other answers are no trees", () => {
  assert.equal(explained({ "@type": "queries", statementText: "", warnings: [] }), null);
});
