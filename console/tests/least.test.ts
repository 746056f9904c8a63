import assert from "node:assert/strict";
import { test } from "node:test";
import { offers } from "../src/sql/complete.ts";
import { firstWord, leastRole } from "../src/sql/least.ts";

test("the role that a statement needs", () => {
  for (const text of ["SELECT 1;", "-- a\n/* b */ show streams;", "WITH a AS (SELECT 1) SELECT * FROM a;", "EXPLAIN DROP STREAM s;"]) assert.equal(leastRole(text), "reader", text);
  for (const text of ["CREATE STREAM s (a INT);", "PRINT 't';", "CREATE SOURCE STREAM s;", "TERMINATE q;", "-- SELECT\nDROP TABLE t;"]) assert.equal(leastRole(text), "developer", text);
  for (const text of ["CREATE SOURCE CONNECTOR c;", "create sink s", "DROP CONNECTOR c;", "CREATE OR REPLACE FUNCTION f;", "ALTER SYSTEM 'a'='b';"]) assert.equal(leastRole(text), "admin", text);
});

test("the word of a statement", () => {
  assert.equal(firstWord("-- a\n/* b */ drop\nTABLE t;"), "DROP");
});

test("statements that the role may not run are not completed", () => {
  const metadata = { sources: {}, tables: [], functions: [], queries: [], topics: [], properties: [] };
  const labels = (role: "reader" | "developer" | "admin") => offers("", metadata, role).map((offer) => offer.label);
  assert.ok(!labels("reader").some((label) => /^(CREATE|DROP|INSERT|PRINT|TERMINATE|ct|ii)/.test(label)));
  assert.ok(labels("reader").includes("SELECT") && labels("reader").includes("EXPLAIN"));
  assert.ok(labels("developer").includes("CREATE TABLE") && !labels("developer").includes("CREATE SINK"));
  assert.ok(labels("admin").includes("CREATE SINK"));
});
