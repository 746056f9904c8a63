// A real server: where a row comes from, why one is missing, and what a record has changed.
import { test } from "node:test";
import { accessible, picture, URL_OF_SERVER, withPage, write } from "./browser.mjs";

const STATEMENTS = `
CREATE STREAM orders (id STRING KEY, item STRING, price DOUBLE) WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM paid AS SELECT id, item, price FROM orders WHERE price > 0;
CREATE TABLE takings AS SELECT item, SUM(price) AS total FROM paid GROUP BY item;
CREATE TABLE per_minute AS SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 0 SECONDS) GROUP BY item;
INSERT INTO orders (ROWTIME, id, item, price) VALUES ('2026-03-01T10:00:10', 'o1', 'tea', 3.5);
INSERT INTO orders (ROWTIME, id, item, price) VALUES ('2026-03-01T10:01:10', 'o2', 'tea', 4);
INSERT INTO orders (ROWTIME, id, item, price) VALUES ('2026-03-01T10:01:20', 'o3', 'jam', 0);
INSERT INTO orders (ROWTIME, id, item, price) VALUES ('2026-03-01T10:00:20', 'o4', 'tea', 2);`;

test("where a row comes from, why one is missing, what a record has changed", async () => {
  const body = JSON.stringify({ ksql: STATEMENTS, streamsProperties: { "auto.offset.reset": "earliest" } });
  const response = await fetch(`${URL_OF_SERVER}/ksql`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  if (!response.ok) throw new Error(await response.text());
  await withPage(async (page) => {
    await page.goto(`${URL_OF_SERVER}/#/editor`);
    const tree = page.locator(".explained").first();
    // asked again until the queries have read all
    const asked = async (text, ...signs) => {
      for (;;) {
        await write(page, text);
        await page.getByRole("button", { name: "Run", exact: true }).click();
        await page.locator(".outcome", { hasText: text.slice(0, 60) }).first().locator(".explained").waitFor();
        const shown = await tree.innerText();
        if (signs.every((sign) => shown.includes(sign))) return;
        await new Promise((done) => setTimeout(done, 1000));
      }
    };
    await asked("EXPLAIN ROW FROM takings WHERE item = 'tea';", "TAKINGS (CTAS_TAKINGS_3): 3 records", "PAID (CSAS_PAID_2): 3 rows of 3 records", "orders 0/3 2026-03-01T10:00:20Z");
    await accessible(page);
    await picture(page, "explain-row");
    await asked("EXPLAIN MISSING ROW FROM paid WHERE id = 'o3';", "1 record dropped: WHERE (PRICE > 0");
    await picture(page, "explain-missing");
    await asked("EXPLAIN RECORD 'orders' PARTITION 0 OFFSET 3;", "PER_MINUTE (CTAS_PER_MINUTE_4): late", "too late for Aggregate", "TAKINGS (CTAS_TAKINGS_3): 1 row changed");
    await accessible(page);
    await picture(page, "explain-record");
    await page.setViewportSize({ width: 390, height: 800 });
    await picture(page, "explain-record-narrow");
  });
});
