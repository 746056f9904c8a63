import assert from "node:assert/strict";
import { test } from "node:test";
import { columnsOf, frameOf } from "../src/api/frames.ts";
import { brief, cellText, compareCells, digitsIn, middle, shownText, toCsv, toJson, valueText } from "../src/format/cells.ts";
import { ExactNumber, parseExactly } from "../src/format/json.ts";
import { bytes, count, rate, short, span } from "../src/format/numbers.ts";
import { instant, preciseInstant, renamedTimes, timeOfDay } from "../src/format/times.ts";

const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, " ");

test("numbers", () => {
  assert.equal(count(1234567), "1,234,567");
  assert.equal(count(null), "–");
  assert.deepEqual([0, 0.254, 9.5, 950, 9999, 12_345, 4_500_000].map(short), ["0", "0.25", "9.5", "950", "9,999", "12.3k", "4.5M"]);
  assert.equal(rate(12.4), "12/s");
  assert.deepEqual([0, 0.0035, 1.5, 59, 150, 7200, 200_000].map(span).map(plain), ["0 s", "3.5 ms", "1.5 s", "59 s", "2.5 min", "2 h", "2 d"]);
  assert.deepEqual([12, 1500, 2_500_000].map(bytes), ["12 B", "1.5 kB", "2.5 MB"]);
});

test("cells", () => {
  assert.equal(cellText(null), "NULL");
  assert.equal(cellText({ A: [1] }), '{"A":[1]}');
  assert.equal(cellText({ text: "a" }), '{"text":"a"}');
  assert.equal(brief("x".repeat(3000)), `${"x".repeat(2000)}… (3,000 characters)`);
  assert.deepEqual([3, null, 12, 1].sort(compareCells), [null, 1, 3, 12]);
  assert.deepEqual(["b10", "b9", "a"].sort(compareCells), ["a", "b9", "b10"]);
});

test("a long name loses its middle", () => {
  assert.deepEqual(["CTAS_RIDES_1", "CTAS_YELLOW_AND_GREEN_RIDES_17"].map((name) => middle(name, 20)), ["CTAS_RIDES_1", "CTAS_YELLOW_A…DES_17"]);
});

test("cells as people read them: times, and doubles without the errors of their last digits", () => {
  const double = { name: "TOTAL", type: "DOUBLE" };
  assert.deepEqual([76802.73999999995, 23 / 7, 0.1 + 0.2, 0.000012345678, -40.7127761, 1e300, -5, 123456789012345, null].map((cell) => shownText(double, cell)), ["76802.74", "3.285714", "0.3", "0.0000123457", "-40.712776", "1e+300", "-5", "123456789012345", "NULL"]);
  const ms = Date.UTC(2026, 0, 31, 14, 3, 59, 123);
  for (const name of ["ROWTIME", "WINDOWSTART", "WINDOWEND"]) assert.equal(shownText({ name, type: "BIGINT" }, ms), preciseInstant(ms));
  assert.equal(shownText({ name: "N", type: "BIGINT" }, 9007199254740991), "9007199254740991");
  assert.equal(shownText({ name: "WINDOWSTART", type: "STRING" }, "x"), "x");
  assert.equal(shownText({ name: "WS", type: "BIGINT", isTime: true }, ms), preciseInstant(ms));
  assert.deepEqual(renamedTimes("SELECT k, windowstart AS ws, `WINDOWEND` AS `we`, COUNT(*) AS n, ROWTIME FROM a"), ["WS", "we"]);
  assert.equal(toCsv([double], [[0.1 + 0.2]]), "TOTAL\r\n0.30000000000000004\r\n");
});

test("a DECIMAL has all digits of its type, and the points of a column's doubles are below each other", () => {
  const decimal = (type: string, ...cells: unknown[]) => cells.map((cell) => valueText({ name: "D", type }, cell));
  assert.deepEqual(decimal("DECIMAL(8, 2)", 12, 3.5, -0.25, null), ["12.00", "3.50", "-0.25", "NULL"]);
  assert.deepEqual([decimal("DECIMAL(4, 0)", 12), decimal("DECIMAL(38, 20)", 0.1), decimal("DECIMAL(10, 8)", 1e-7)], [["12"], ["0.10000000000000000000"], ["0.00000010"]]);
  const price = { name: "PRICE", type: "DECIMAL(8, 2)" };
  assert.deepEqual([shownText(price, 12), toCsv([price], [[3.5], [null]])], ["12.00", "PRICE\r\n3.50\r\n\r\n"]);
  const double = { name: "MEAN", type: "DOUBLE" };
  const cells = [91.74, 3, 78.011, null];
  assert.deepEqual(cells.map((cell) => shownText(double, cell, digitsIn(double, cells))), ["91.740", "3.000", "78.011", "NULL"]);
  assert.equal(digitsIn(double, [1, 2e300]), 0);
  assert.equal(digitsIn(price, [1.5]), 0);
});

test("times are ISO 8601, in the user's zone", () => {
  const ms = new Date(2026, 0, 31, 0, 3, 9, 7).getTime();
  assert.deepEqual([timeOfDay(ms), instant(ms), preciseInstant(ms)], ["00:03:09", "2026-01-31 00:03:09", "2026-01-31 00:03:09.007"]);
});

test("CSV and JSON", () => {
  const columns = [{ name: "A", type: "INTEGER" }, { name: "b,c", type: "STRING" }];
  assert.equal(toCsv(columns, [[1, 'say "hi"'], [null, "=1+1"]]), 'A,"b,c"\r\n1,"say ""hi"""\r\n,\'=1+1\r\n');
  assert.equal(toCsv([{ name: "=cmd()", type: "STRING" }], [["-1"]]), "'=cmd()\r\n'-1\r\n");
  assert.deepEqual(JSON.parse(toJson(columns, [[1, "x"]])), [{ A: 1, "b,c": "x" }]);
});

test("frames and their schema", () => {
  assert.deepEqual(frameOf('[{"header":{"queryId":"q","schema":"`A` INT"}},')?.header?.queryId, "q");
  assert.deepEqual(frameOf('{"row":{"columns":[[1,2]]}}]')?.row?.columns, [[1, 2]]);
  assert.equal(frameOf("]"), null);
  assert.deepEqual(columnsOf("`A` STRING KEY, `P` ARRAY<DECIMAL(4, 2)>, `x ``y` STRUCT<`a` INTEGER, `b` STRING>"), [
    { name: "A", type: "STRING", isKey: true },
    { name: "P", type: "ARRAY<DECIMAL(4, 2)>" },
    { name: "x `y", type: "STRUCT<`a` INTEGER, `b` STRING>" },
  ]);
  assert.deepEqual(columnsOf("`S` STRUCT<`a>, <``b` INTEGER, `c` STRING>, `N` INTEGER").map(({ name }) => name), ["S", "N"]);
});

test("numbers keep their digits where the engine can tell", () => {
  const [found] = parseExactly("[9007199254740993123]") as unknown[];
  if (found instanceof ExactNumber) assert.equal(cellText(found), "9007199254740993123");
  assert.deepEqual(parseExactly("[1.5, 12]"), [1.5, 12]);
});
