// JupyterLab with %ksql, on a real server: a frame, a live table and a chart that update in place, an error, completion.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chromium } from "playwright-core";

const { CHROMIUM, JUPYTER_URL, CONSOLE_URL, SOON_MS = "120000" } = process.env;

/** Run a statement on the server. */
async function execute(ksql) {
  const answer = await fetch(`${CONSOLE_URL}/ksql`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ksql }) });
  assert.equal(answer.status, 200, await answer.text());
}

test("a notebook from its first cell to a live table that is interrupted", async () => {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
    page.setDefaultTimeout(Number(SOON_MS));
    await page.goto(JUPYTER_URL);
    const cell = (at) => page.locator(".jp-Notebook .jp-CodeCell").nth(at);
    const run = async (at) => {
      // what is run before the kernel has been connected is forgotten
      for (let tries = 0; tries < 20; tries++) {
        await cell(at).locator(".jp-InputPrompt").click();
        await page.locator("[data-command='notebook:run-cell-and-select-next']").first().click();
        const begun = cell(at).locator(".jp-InputPrompt", { hasText: /\[(\*|\d+)\]/ });
        if (await begun.waitFor({ timeout: 3_000 }).then(() => true, () => false)) return;
      }
      assert.fail(`cell ${at} does not run`);
    };
    await page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").first().waitFor();
    await run(0);
    await cell(0).locator(".jp-OutputArea", { hasText: "127.0.0.1" }).waitFor();

    await run(1);
    await cell(1).locator(".jp-RenderedHTML table.dataframe", { hasText: "tea" }).waitFor();

    // a live table: what comes later is seen in the same place
    await run(2);
    const live = cell(2).locator(".jp-OutputArea-output pre");
    await live.filter({ hasText: "3.5" }).waitFor();
    await execute("INSERT INTO orders VALUES (2, 'tea', 4.0);");
    await live.filter({ hasText: "7.5" }).waitFor();
    assert.equal(await live.count(), 1);
    assert.ok(!(await live.innerText()).includes("3.5"));
    await page.locator(".jp-Notebook").press("Escape");
    await page.keyboard.press("i");
    await page.keyboard.press("i");
    await cell(2).locator(".jp-InputPrompt", { hasText: /\[\d+\]/ }).waitFor();
    assert.equal(await cell(2).getByText("Traceback").count(), 0);

    // a chart ends by its limit
    await run(3);
    await cell(3).locator(".jp-OutputArea-output pre", { hasText: "▇" }).waitFor();
    await cell(3).locator(".jp-InputPrompt", { hasText: /\[\d+\]/ }).waitFor();

    await run(4);
    await cell(4).locator(".jp-OutputArea", { hasText: "^" }).waitFor();
    assert.equal(await cell(4).getByText("Traceback").count(), 0);

    // Tab knows the table
    await cell(5).locator(".cm-content").click();
    await page.keyboard.press("End");
    await page.keyboard.press("Tab");
    await page.locator(".jp-Completer-item, .cm-line", { hasText: /SALES/ }).first().waitFor();
  } catch (error) {
    const shown = await browser.contexts()[0].pages()[0].locator("body").innerText().catch(() => "");
    throw new Error(`${error.message}\nThe page had:\n${shown.slice(-3000)}`, { cause: error });
  } finally {
    await browser.close();
  }
});
