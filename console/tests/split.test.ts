import assert from "node:assert/strict";
import { test } from "node:test";
import { isPush, kindOf, nameInSql, positionOf, setting, split, statementAt } from "../src/sql/split.ts";

const texts = (text: string) => split(text).map((statement) => statement.text);

test("a semicolon ends a statement", () => {
  assert.deepEqual(texts("SELECT 1; SHOW TOPICS;\n\nLIST STREAMS"), ["SELECT 1;", "SHOW TOPICS;", "LIST STREAMS"]);
});

test("not one in a string, a quoted name or a comment", () => {
  const one = "SELECT ';', 'it''s;', `a;b`, \"c;d\" -- no; end\n /* nor; here */ FROM s;";
  assert.deepEqual(texts(`${one} SHOW TABLES;`), [one, "SHOW TABLES;"]);
});

test("nor one in the code of a function", () => {
  const one = "CREATE FUNCTION f (a INT) RETURNS INT LANGUAGE PYTHON AS $$ x = 1; return x $$;";
  assert.deepEqual(texts(`${one}\nSHOW FUNCTIONS;`), [one, "SHOW FUNCTIONS;"]);
});

test("comments before and between belong to none", () => {
  assert.deepEqual(texts("-- all; of it\nSHOW TOPICS; /* x; */ ; ;-- end"), ["SHOW TOPICS;"]);
});

test("a bare -- takes the next line, as in ksqlDB", () => {
  assert.deepEqual(texts("--\nSELECT 1; x\nSHOW TOPICS;"), ["SHOW TOPICS;"]);
});

test("a string that is not closed takes the rest", () => {
  assert.deepEqual(split("SELECT 'a; SHOW TOPICS;").map((s) => [s.text, s.isComplete]), [
    ["SELECT 'a; SHOW TOPICS;", false],
  ]);
});

test("an arithmetic minus is no comment, and division no block", () => {
  assert.deepEqual(texts("SELECT 1 - 2 / 3 FROM s; SHOW TOPICS;"), ["SELECT 1 - 2 / 3 FROM s;", "SHOW TOPICS;"]);
});

test("the statement at the cursor", () => {
  const text = "SELECT 1;\n\nSHOW TOPICS;  \n";
  const at = (position: number) => statementAt(text, position)?.text;
  assert.equal(at(0), "SELECT 1;");
  assert.equal(at(9), "SELECT 1;");
  assert.equal(at(10), "SHOW TOPICS;");
  assert.equal(at(text.indexOf(";  ") + 2), "SHOW TOPICS;");
  assert.equal(at(text.length), "SHOW TOPICS;");
  assert.equal(statementAt("  -- nothing", 3), null);
});

test("kinds", () => {
  assert.equal(kindOf("with x as (select 1) select * from x;"), "SELECT");
  assert.equal(kindOf("print orders;"), "PRINT");
  assert.equal(kindOf("CREATE STREAM s AS SELECT 1;"), "OTHER");
  assert.equal(isPush("SELECT 'EMIT CHANGES' FROM t;"), false);
  assert.equal(isPush("SELECT * FROM t -- EMIT CHANGES\n emit\n changes;"), true);
});

test("settings", () => {
  assert.deepEqual(setting("SET 'auto.offset.reset' = 'earliest';"), { name: "auto.offset.reset", value: "earliest" });
  assert.deepEqual(setting("unset 'x';"), { name: "x", value: null });
  assert.equal(setting("SET x = 1;"), null);
});

test("positions in messages, and names", () => {
  assert.deepEqual(positionOf("line 2:15: no viable alternative"), { line: 2, column: 15 });
  assert.equal(positionOf("There is no stream X."), null);
  assert.equal(nameInSql("ORDERS"), "ORDERS");
  assert.equal(nameInSql("odd `name"), "`odd ``name`");
});
