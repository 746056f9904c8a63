// An empty, real server: the story, the flow, the editor, a query, a source.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, picture, URL_OF_SERVER, withPage, write } from "./browser.mjs";

test("from an empty server to live results", async () => {
  await withPage(async (page) => {
    await page.goto(`${URL_OF_SERVER}/`);
    await page.getByText("Nothing flows here yet").waitFor();
    await accessible(page);
    await picture(page, "welcome");
    await page.getByRole("button", { name: "Load the shop" }).click();

    const node = page.locator(".node.query", { hasText: "CTAS_SALES" });
    await node.getByText("running").waitFor();
    assert.equal(await page.locator(".node").count(), 5);
    for (const name of ["ORDERS", "BIG_ORDERS", "SALES"]) await page.locator(".node b", { hasText: new RegExp(`^${name}$`) }).waitFor();
    await accessible(page);
    await picture(page, "flow");
    await page.getByRole("button", { name: "End the tour" }).click();

    await page.getByRole("link", { name: "Editor", exact: true }).click();
    await write(page, "SELECT * FROM sales EMIT CHANGES;");
    await page.keyboard.press("Control+Enter");
    const tea = page.locator(".grid tbody tr", { hasText: "tea" });
    await tea.getByText("17.5").waitFor();
    assert.equal(await tea.count(), 1);
    await accessible(page);

    // an INSERT in the same tab, beside the query, changes the row in place
    await write(page, "INSERT INTO orders (id, item, price) VALUES (13, 'tea', 2.5);");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("Done.").waitFor();
    await tea.getByText("20").waitFor();
    // and so does another tab
    await page.getByRole("button", { name: "New tab" }).click();
    await write(page, "CREATE VIEW dear AS SELECT item, price FROM orders WHERE price > 5;");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("navigation", { name: "Objects" }).getByText("DEAR", { exact: true }).waitFor();
    await write(page, "DESCRIBE dear;");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("A view, which has no topic.").waitFor();
    await write(page, "DROP VIEW dear;");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("dialog").getByText("The view is removed.").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await write(page, "ROLLBACK sales;");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("dialog").getByText("It takes the last change back").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Statements 1", exact: true }).click();
    await tea.getByText("20").waitFor();
    assert.equal(await tea.count(), 1);
    await picture(page, "editor");
    await page.getByRole("button", { name: "Chart" }).click();
    await page.getByLabel("Column").selectOption({ label: "REVENUE" });
    await page.locator(".bars tr", { hasText: "tea" }).getByText("20", { exact: true }).waitFor();
    await accessible(page);
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Stopped.").waitFor();

    // marked before it is run
    await write(page, "CREATE STREAM x AS\n  SELECT odd FROM sales;");
    await page.locator(".cm-lintRange-error", { hasText: /^odd$/ }).waitFor();
    await write(page, "SELECT odd FROM sales EMIT CHANGES;");
    await page.locator(".cm-line", { hasText: "EMIT" }).locator(".cm-lintRange-error", { hasText: /^odd$/ }).waitFor();

    await write(page, "SELECT item, n FROM sales;\n\nSELECT nope\n  FROM sales;");
    await page.keyboard.press("Control+Shift+Enter");
    await page.getByText("5 rows").waitFor();
    await page.locator(".problem", { hasText: "NOPE" }).waitFor();
    assert.equal(await page.locator(".cm-lintRange-error").innerText(), "nope");
    await picture(page, "error");

    await page.goto(`${URL_OF_SERVER}/#/source/ORDERS`);
    await page.getByRole("button", { name: "The first 100" }).click();
    await page.locator(".grid tbody tr", { hasText: "grinder" }).waitFor();
    await page.getByText("13 of 100, waits for more").waitFor();
    await page.getByText("as fresh as its topic").waitFor();
    await page.getByRole("button", { name: "Show bytes" }).click();
    await page.locator("pre", { hasText: '"grinder"' }).first().waitFor();
    await page.getByText("its formats have no schemas there").waitFor();
    await accessible(page);
    await picture(page, "source");
    await page.goto(`${URL_OF_SERVER}/#/source/SALES`);
    await page.getByRole("row", { name: /^CTAS_SALES.*running/ }).first().waitFor();

    await page.goto(`${URL_OF_SERVER}/#/source/DEAR`);
    await page.getByText("Reads ORDERS.").waitFor();
    await page.getByText("CREATE VIEW DEAR AS").waitFor();
    assert.equal(await page.locator(".problem").count(), 0);
    await accessible(page);
    await picture(page, "view");
    await page.goto(`${URL_OF_SERVER}/#/flow?view=lists`);
    await page.getByRole("heading", { name: "Views" }).waitFor();
    await page.goto(`${URL_OF_SERVER}/#/topics/nope`);
    await page.getByText("There is no topic nope").waitFor();

    await page.goto(`${URL_OF_SERVER}/#/flow`);
    await page.locator(".node.query", { hasText: "CTAS_SALES" }).locator("a").click();
    await page.getByRole("heading", { name: /^CTAS_SALES/ }).waitFor();
    await page.locator(".chart canvas").first().waitFor();
    await page.getByRole("heading", { name: "Latency to SALES" }).waitFor();
    await page.getByRole("link", { name: "Plan", exact: true }).click();
    await page.locator(".step", { hasText: "Stream Source" }).getByText("/s").first().waitFor();
    await page.locator(".step", { hasText: "Stream Aggregate" }).getByText("keeps state").waitFor();
    await page.getByRole("button", { name: "logical" }).click();
    await page.locator(".step b", { hasText: /^Aggregate$/ }).waitFor();
    await page.getByRole("button", { name: "physical" }).click();
    await page.getByRole("link", { name: "Errors", exact: true }).click();
    await page.getByRole("row", { name: /start.*running/ }).first().waitFor();
    await page.getByRole("link", { name: "Checkpoints", exact: true }).click();
    await page.locator("table", { hasText: "Longest parts of the pause" }).locator("tbody tr").first().waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("dialog").getByText("SALES", { exact: true }).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
    await page.locator("header .state", { hasText: "paused" }).waitFor();
    await accessible(page);
    await picture(page, "query");
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
    await page.locator("header .state", { hasText: /running|starting/ }).first().waitFor();

    await page.getByRole("link", { name: "Topics", exact: true }).click();
    await page.getByRole("link", { name: "console_orders", exact: true }).click();
    await page.getByRole("button", { name: "The first 100" }).click();
    await page.locator(".lines", { hasText: "grinder" }).waitFor();
    await accessible(page);
    await picture(page, "topic");
    await page.getByRole("link", { name: "Failed records", exact: true }).click();
    await page.getByRole("button", { name: "Keep failed records" }).waitFor();
    await accessible(page);
    await page.getByRole("link", { name: "Connectors", exact: true }).click();
    await page.getByText("There are none.").waitFor();
    await accessible(page);

    for (const [name, heading] of [["Server", "Health"], ["Functions", "aggregate"]]) {
      await page.getByRole("link", { name, exact: true }).click();
      await page.getByRole("heading", { name: heading }).waitFor();
      await accessible(page);
    }
    await page.goto(`${URL_OF_SERVER}/#/functions/UCASE`);
    await page.getByRole("link", { name: "Run it" }).first().click();
    await page.getByRole("button", { name: "Run all" }).click();
    await page.getByText("1 row").waitFor();
    await page.getByLabel("From the beginning").uncheck();
    await write(page, "CREATE TABLE later AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item EMIT CHANGES;");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("It reads only records from now on.").waitFor();
    await page.getByText("Created query with ID").getByRole("link", { name: /^CTAS_LATER/ }).waitFor();
    await picture(page, "from-now-on");
  });
});
