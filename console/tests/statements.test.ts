import assert from "node:assert/strict";
import { test } from "node:test";
import { isPlanned, isReplacement, nameInSql, own, positionOf, statementAt, type Statement } from "../src/sql/statements.ts";

test("the statement at the cursor", () => {
  const text = "SELECT 1;\n\nSHOW TOPICS;  \n";
  const all = ["SELECT 1;", "SHOW TOPICS;"].map((one): Statement => ({ ...own(one), start: text.indexOf(one), end: text.indexOf(one) + one.length }));
  const at = (position: number) => statementAt(all, text, position)?.text;
  assert.equal(at(0), "SELECT 1;");
  assert.equal(at(9), "SELECT 1;");
  assert.equal(at(10), "SHOW TOPICS;");
  assert.equal(at(text.indexOf(";  ") + 2), "SHOW TOPICS;");
  assert.equal(at(text.length), "SHOW TOPICS;");
  assert.equal(statementAt([], "  -- nothing", 3), null);
});

test("what is planned while it is written", () => {
  const query = own("SELECT 1;");
  const create: Statement = { ...query, verb: "CREATE", object: "TABLE", isQuery: false };
  assert.ok(isPlanned(query) && isPlanned(create) && isPlanned({ ...create, verb: "INSERT", object: "INTO" }));
  assert.ok(!isPlanned({ ...query, isComplete: false }) && !isPlanned({ ...create, object: "SINK" }) && !isPlanned({ ...create, verb: "EXPLAIN" }));
  assert.ok(isReplacement({ ...create, isReplacement: true }) && !isReplacement(create));
});

test("the console's own queries are push queries if they say so", () => {
  const texts = ["SELECT * FROM A EMIT CHANGES;", "SELECT * FROM A WHERE B > 1 EMIT CHANGES LIMIT 100;", "SELECT * FROM `EMIT CHANGES`;", "PRINT 'a';"];
  assert.deepEqual(texts.map((text) => own(text).isPush), [true, true, false, false]);
});

test("positions in messages, and names", () => {
  assert.deepEqual(positionOf("line 2:15: no viable alternative"), { line: 2, column: 15 });
  assert.equal(positionOf("There is no stream X."), null);
  assert.equal(nameInSql("ORDERS"), "ORDERS");
  assert.equal(nameInSql("odd `name"), "`odd ``name`");
});
