import assert from "node:assert/strict";
import { test } from "node:test";
import { offers } from "../src/sql/complete.ts";

const METADATA = {
  sources: { ORDERS: ["ID", "ITEM"], SALES: ["ITEM", "N"] },
  tables: ["SALES"],
  views: [],
  indexes: [],
  functions: ["UCASE"],
  queries: ["CTAS_SALES_1"],
  topics: ["orders", "odd-topic"],
  properties: ["auto.offset.reset"],
};
const labels = (text: string) => offers(text, METADATA).map((offer) => offer.label);

test("statements, sources, columns", () => {
  assert.ok(labels("").includes("CREATE STREAM"));
  assert.ok(labels("SHOW TOPICS; sel").includes("SELECT"));
  assert.deepEqual(labels("SELECT * FROM "), ["ORDERS", "SALES"]);
  assert.deepEqual(labels("SELECT * FROM orders o WHERE o."), ["ID", "ITEM"]);
  assert.deepEqual(labels("SELECT * FROM sales WHERE ").slice(0, 2), ["ITEM", "N"]);
  assert.ok(labels("SELECT ").includes("UCASE"));
  assert.deepEqual(labels("DROP TABLE "), ["SALES", "IF EXISTS"]);
  assert.deepEqual(labels("INSERT INTO orders ("), ["ID", "ITEM"]);
});

test("queries, topics, properties, formats", () => {
  assert.deepEqual(labels("PAUSE "), ["CTAS_SALES_1", "ALL"]);
  assert.deepEqual(labels("PRINT "), ["orders", "'odd-topic'"]);
  assert.deepEqual(labels("SET '"), ["auto.offset.reset"]);
  assert.ok(labels("CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='t', ").includes("VALUE_FORMAT"));
  assert.ok(labels("CREATE STREAM s (a INT) WITH (VALUE_FORMAT='").includes("AVRO"));
  assert.ok(labels("CREATE STREAM s (a ").includes("STRING"));
  assert.deepEqual(labels("SELECT 'x"), []);
});

test("statements that the role may not run are not completed", () => {
  const metadata = { sources: {}, tables: [], views: [], indexes: [], functions: [], queries: [], topics: [], properties: [] };
  const labels = (role: "reader" | "developer" | "admin") => offers("", metadata, role).map((offer) => offer.label);
  assert.ok(!labels("reader").some((label) => /^(CREATE|DROP|INSERT|PRINT|TERMINATE|ct|ii)/.test(label)));
  assert.ok(labels("reader").includes("SELECT") && labels("reader").includes("EXPLAIN"));
  assert.ok(labels("developer").includes("CREATE TABLE") && !labels("developer").includes("CREATE SINK"));
  assert.ok(labels("admin").includes("CREATE SINK"));
});
