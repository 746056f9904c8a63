// A real server with a query that is too slow and a record that it cannot read: what a newcomer asks is answered by the console alone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, picture, URL_OF_SERVER, withPage } from "./browser.mjs";

const STATEMENTS = `
CREATE FUNCTION calibrated (reading INT) RETURNS INT LANGUAGE PYTHON AS $$
  import time
  time.sleep(0.2)
  return reading
$$;
CREATE STREAM readings (sensor STRING KEY, reading INT) WITH (KAFKA_TOPIC = 'readings', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM readings_as_text (sensor STRING KEY, body STRING) WITH (KAFKA_TOPIC = 'readings', VALUE_FORMAT = 'KAFKA');
CREATE STREAM checked AS SELECT sensor, calibrated(reading) AS reading FROM readings EMIT CHANGES;
CREATE TABLE means AS SELECT sensor, AVG(reading) AS mean FROM checked GROUP BY sensor EMIT CHANGES;
CREATE STREAM high AS SELECT * FROM readings WHERE reading > 90 EMIT CHANGES;`;
const PER_S = 60;

async function post(path, body) {
  const response = await fetch(`${URL_OF_SERVER}/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  assert.ok(response.ok, await response.clone().text());
}

async function feed(signal) {
  for (let n = 0; !signal.aborted; n++) {
    const rows = Array.from({ length: PER_S }, (_, i) => ({ SENSOR: `sensor ${i % 7}`, READING: (n + i) % 100 }));
    await post("inserts-stream", [{ target: "READINGS" }, ...rows].map((row) => JSON.stringify(row)).join("\n"));
    await new Promise((done) => setTimeout(done, 1000));
  }
}

test("what runs, which query is behind and why, which record broke it, and where its result is", async () => {
  await post("ksql", JSON.stringify({ ksql: STATEMENTS }));
  const feeding = new AbortController();
  const fed = feed(feeding.signal);
  fed.catch(() => undefined); // awaited at the end
  try {
    await withPage(async (page) => {
      await page.goto(`${URL_OF_SERVER}/`);
      await page.getByText("3 of 3 running").waitFor();
      await post("ksql", JSON.stringify({ ksql: "INSERT INTO readings_as_text (sensor, body) VALUES ('attic', 'it rains in');" }));
      // why
      const cause = page.locator(".banner", { hasText: /CSAS_CHECKED_\d+ falls behind, by [\d,]+ records in 30 s: \d+ records\/s arrive, it reads \d+\/s/ });
      await cause.waitFor();
      await page.locator(".node.culprit", { hasText: "the cause" }).waitFor();
      await page.locator(".node.query", { hasText: "CSAS_HIGH" }).getByText("1 failed").waitFor();
      await accessible(page);
      await picture(page, "behind");
      const begun = Date.now();
      await cause.getByRole("link").click();
      await page.getByText("What comes after it waits for this query.").waitFor();
      await picture(page, "behind-query");
      // which record
      await page.locator("nav").getByRole("link", { name: /^Failed records \d/ }).click();
      const row = page.locator(".failures tbody tr", { hasText: /CSAS_HIGH_\d+.*deserialization/ });
      await row.waitFor();
      await accessible(page);
      await picture(page, "failed");
      await row.getByRole("link").last().click();
      await page.locator("td pre", { hasText: "it rains in" }).waitFor();
      // where its result is
      await page.getByRole("link", { name: "Flow", exact: true }).click();
      await page.locator(".node.query", { hasText: "CSAS_HIGH" }).getByRole("link").click();
      await page.getByText("Its results are in").getByRole("link", { name: "HIGH" }).click();
      await page.getByRole("button", { name: "The first 100" }).click();
      await page.locator(".grid tbody tr", { hasText: "sensor" }).first().waitFor();
      assert.ok(Date.now() - begun < 300_000);
      // and of a table, where its delay comes from
      await page.goto(`${URL_OF_SERVER}/#/source/MEANS`);
      await page.locator(".banner", { hasText: "CSAS_CHECKED" }).waitFor();
      await accessible(page);
      await picture(page, "behind-table");
    });
  } finally {
    feeding.abort();
    await fed;
  }
});
