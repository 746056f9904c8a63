// A real server with the Kafka Connect that it starts itself: a connector from the form to its end, and one that fails.
import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { test } from "node:test";
import { accessible, picture, URL_OF_SERVER, withPage } from "./browser.mjs";

const { LINES } = process.env;

/** Fill in the form for a new connector, and create it. */
async function create(page, kind, name, settings) {
  await page.goto(`${URL_OF_SERVER}/#/connectors?create=1`);
  await page.reload(); // the form may be open already, with what was filled in
  const plugins = page.getByLabel(/^Class/);
  const option = page.locator("option", { hasText: new RegExp(`FileStream${kind}Connector`) });
  await option.waitFor({ state: "attached" });
  await plugins.selectOption({ label: await option.innerText() });
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByRole("button", { name: /^All \d+ settings$/ }).click();
  for (const [setting, value] of Object.entries(settings)) await page.getByRole("textbox", { name: new RegExp(`^${setting}( required)? `) }).fill(value);
  await page.locator(".card", { hasText: new RegExp(`CONNECTOR .?${name}`) }).waitFor();
}

test("from the form to records in a topic, a failure, a restart and the end", async () => {
  await withPage(async (page) => {
    await page.goto(`${URL_OF_SERVER}/#/connectors`);
    await page.getByText("There are none.").waitFor();
    await page.getByRole("link", { name: "New connector" }).click();
    const strings = { "value.converter": "org.apache.kafka.connect.storage.StringConverter" };
    await create(page, "Source", "lines", { file: LINES, topic: "lines", ...strings });
    await page.getByText("Source filename.").waitFor();
    await accessible(page);
    await picture(page, "connector-form");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "lines", exact: true }).waitFor();
    await page.locator("p", { hasText: "Task 0" }).getByText("running").waitFor();
    await page.getByRole("link", { name: "lines", exact: true }).click();
    await page.getByRole("button", { name: "The first 100" }).click();
    await page.locator(".lines", { hasText: "two" }).waitFor();

    // what Connect refuses is told where it was asked
    await create(page, "Source", "wrong", { file: LINES, topic: "lines", "batch.size": "many" });
    await page.getByRole("button", { name: "Create" }).click();
    await page.locator(".problem", { hasText: "batch.size" }).waitFor();
    await accessible(page);

    // one that fails while it runs
    await create(page, "Sink", "astray", { file: `${LINES}.d/out`, topics: "lines", ...strings });
    await page.getByRole("button", { name: "Create" }).click();
    await page.locator("pre", { hasText: `${LINES}.d/out` }).waitFor();
    await page.locator("p", { hasText: "Task 0" }).getByText("failed").waitFor();
    await accessible(page);
    await picture(page, "connector-failed");
    await page.goto(`${URL_OF_SERVER}/#/flow`);
    await page.locator(".node.connector", { hasText: "astray" }).getByText("failed").waitFor();

    // its cause is removed, and it is restarted
    const { mkdirSync } = await import("node:fs");
    mkdirSync(`${LINES}.d`);
    await page.goto(`${URL_OF_SERVER}/#/connectors/astray`);
    await page.getByRole("button", { name: "Restart what has failed" }).click();
    await page.locator("p", { hasText: "Task 0" }).getByText("running").waitFor();
    appendFileSync(LINES, "three\n");

    await page.getByRole("button", { name: "Drop" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Drop" }).click();
    await page.getByRole("row", { name: /^lines source .*running/ }).waitFor();
    assert.equal(await page.getByRole("link", { name: "astray" }).count(), 0);
  });
});
