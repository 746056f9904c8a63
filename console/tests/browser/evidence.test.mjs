// A page of Evidence, whose queries were sent to a real server when it was built.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chromium } from "playwright-core";

const { CHROMIUM, CONSOLE_URL, EXPECTED, SOON_MS = "120000" } = process.env;
const expected = JSON.parse(EXPECTED);

test("the page shows what is in the tables", async () => {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(Number(SOON_MS));
    await page.goto(CONSOLE_URL);
    await page.getByText(expected.total.toLocaleString("en-US"), { exact: true }).waitFor();
    for (const [at, rows] of expected.tables.entries()) {
      const table = page.locator("table:visible").nth(at);
      await table.getByText(rows[0][0], { exact: true }).waitFor();
      const shown = await table.evaluate((made) => [...made.rows].map((row) => [...row.querySelectorAll("td")].map((cell) => cell.innerText.trim())));
      assert.deepEqual(shown.filter((row) => row.some(Boolean)), rows);
    }
  } finally {
    await browser.close();
  }
});
