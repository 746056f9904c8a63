import assert from "node:assert/strict";
import { test } from "node:test";
import { preciseInstant } from "../src/format/times.ts";
import { bars, drawn, lines } from "../src/sql/charted.ts";
import { createConnector } from "../src/sql/connector.ts";
import { errorsOf, statementThatKeeps } from "../src/sql/errors.ts";
import { whereNew, wherePosition } from "../src/sql/position.ts";

const COLUMNS = [{ name: "K", type: "STRING" }, { name: "ROWTIME", type: "BIGINT" }, { name: "N", type: "BIGINT" }, { name: "T", type: "STRING" }];

test("numbers that are neither keys nor places are drawn", () => {
  assert.deepEqual(drawn(COLUMNS, ["K"]), [2]);
  assert.deepEqual(drawn(COLUMNS, ["K", "N"]), []);
});

test("bars: the largest first, without NULLs", () => {
  const rows = [["a", 1, 5, ""], ["b", 2, 7, ""], ["c", 3, null, ""]];
  assert.deepEqual(bars(COLUMNS, ["K"], rows, 2), [{ label: "b", value: 7 }, { label: "a", value: 5 }]);
});

test("bars of windows are labelled with times", () => {
  const columns = [{ name: "K", type: "STRING" }, { name: "WINDOWSTART", type: "BIGINT" }, { name: "N", type: "BIGINT" }];
  assert.deepEqual(bars(columns, ["K", "WINDOWSTART"], [["a", 60_000, 5]], 2), [{ label: `a, ${preciseInstant(60_000)}`, value: 5 }]);
});

test("lines: in the order of time", () => {
  const found = lines(COLUMNS, [["a", 20, 1, ""], ["a", 10, null, ""]], [2]);
  assert.deepEqual(found, { timesMs: [10, 20], series: [{ label: "N", values: [null, 1] }] });
  assert.equal(lines([COLUMNS[0]!, COLUMNS[2]!], [["a", 1]], [1]), null);
});

test("a connector's statement quotes what it is given", () => {
  assert.equal(
    createConnector("sink", "to-file", "a.B", { file: "it's", empty: "" }),
    "CREATE SINK CONNECTOR `to-file` WITH (\n  'connector.class' = 'a.B',\n  'file' = 'it''s'\n);",
  );
});

test("positions become conditions", () => {
  assert.equal(wherePosition("", ""), "");
  assert.equal(wherePosition("1970-01-01T00:00:01Z", "7"), " WHERE ROWTIME >= 1000 AND ROWOFFSET >= 7");
  assert.equal(wherePosition("x", "-1 OR TRUE"), "");
});

test("failures of queries, by their ids", () => {
  const one = (id: string) => `SELECT '${id}' AS \`QUERY\`, * FROM ERRORS OF ${id} WHERE \`TIME\` >= FROM_UNIXTIME(1)`;
  assert.equal(errorsOf(["CSAS_A_1", "Q2"], 1, 60_001), `${one("CSAS_A_1")} UNION ALL ${one("Q2")} ORDER BY \`TIME\` DESC LIMIT 500;`);
});

test("the newest rows of many are those of a short time", () => {
  assert.equal(whereNew(10, { arrivingPerS: 5, records: 400 }, 1e9), "");
  assert.equal(whereNew(10, undefined, 1e9), "");
  assert.equal(whereNew(10, { arrivingPerS: 2, records: 1e6 }, 1e9), " WHERE ROWTIME >= 999980000");
  assert.equal(whereNew(10, { arrivingPerS: 0, records: 1e6 }, 1e9), " WHERE ROWTIME >= 913600000");
});

test("a server that only counts errors says so", async () => {
  Object.assign(globalThis, { sessionStorage: { getItem: () => null } });
  const { ApiError } = await import("../src/api/client.ts");
  const statement = "CREATE STREAM KSQL_PROCESSING_LOG WITH (KAFKA_TOPIC = 'default_ksql_processing_log', VALUE_FORMAT = 'JSON', PARTITIONS = 1);";
  const message = `line 1:15: Errors and late rows are only counted, because there is no stream KSQL_PROCESSING_LOG to read them from. ${statement} keeps them from now on.`;
  assert.equal(statementThatKeeps(new ApiError(400, { error_code: 40001, message })), statement);
  assert.equal(statementThatKeeps(new ApiError(400, { error_code: 40001, message: "There is no query X." })), null);
  assert.equal(statementThatKeeps(null), null);
});
