// A page of one's own that follows a table by a WebSocket: rows, changes, deletions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chromium } from "playwright-core";

const { CHROMIUM, CONSOLE_URL, PAGE_URL, SOON_MS = "120000" } = process.env;

async function execute(ksql) {
  const answer = await fetch(`${CONSOLE_URL}/ksql`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ksql }) });
  assert.equal(answer.status, 200, await answer.text());
}

test("the page shows the table's rows, and what becomes of them", async () => {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(Number(SOON_MS));
    await page.goto(PAGE_URL);
    const row = (...cells) => page.locator("#rows tr", { hasText: new RegExp(`^${cells.join("\\s*")}$`) });
    await row("tea", 3).waitFor();
    await execute("INSERT INTO stock VALUES ('jam', 1);");
    await row("jam", 1).waitFor();
    await execute("INSERT INTO stock VALUES ('tea', 4);");
    await row("tea", 4).waitFor();
    assert.equal(await page.locator("#rows tr").count(), 2);
    await execute("DELETE FROM stock WHERE item = 'jam';");
    await row("jam").or(row("jam", 1)).waitFor({ state: "detached" });
    assert.equal(await page.locator("#names").innerText(), "ITEM\tAMOUNT");
  } finally {
    await browser.close();
  }
});
