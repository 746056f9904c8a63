// Names, values and addresses that are HTML, scripts, formulas, or very long: they are only text.
import assert from "node:assert/strict";
import { test } from "node:test";
import { URL_OF_SERVER, withPage, write } from "./browser.mjs";

const HTML = '<img src=x onerror="window.harmed=1">';
const NAMES = [HTML, "a\nb", "javascript:alert(1)", "=cmd()", "\u202etxet", "__proto__", "constructor"];
const VALUES = [HTML, "<script>window.harmed=1</script>", "javascript:window.harmed=1", '=HYPERLINK("http://x")', "\u202etxet", "a\0b", "x".repeat(50_000)];

async function post(path, body) {
  const answer = await fetch(`${URL_OF_SERVER}/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  const text = await answer.text();
  assert.ok(answer.ok && !text.includes('"error"'), text.slice(0, 1000));
}

/** Whether the page ran something that it should have shown. */
async function unharmed(page) {
  assert.equal(await page.evaluate(() => globalThis.harmed), undefined);
  assert.equal(await page.locator("img, iframe, body script").count(), 0);
}

test("what others write is only text", async () => {
  const names = NAMES.map((name) => `\`${name}\``);
  await post("ksql", JSON.stringify({ ksql: `CREATE STREAM hostile (${names.map((name) => `${name} STRING`).join(", ")}) WITH (KAFKA_TOPIC = 'hostile', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
    CREATE STREAM hostile_copies AS SELECT ${names.join(", ")} FROM hostile;` }));
  await post("inserts-stream", [{ target: "hostile" }, ...VALUES.map((value) => Object.fromEntries(names.map((name) => [name, value])))].map((line) => JSON.stringify(line)).join("\n"));

  await withPage(async (page) => {
    await page.goto(`${URL_OF_SERVER}/#/source/HOSTILE`);
    await page.getByRole("button", { name: "The first 100" }).click();
    await page.locator(".grid .scroll td", { hasText: HTML }).first().waitFor();
    await page.locator(".grid .scroll td", { hasText: "(50,000 characters)" }).first().waitFor();
    await unharmed(page);
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV", exact: true }).last().click()]);
    let csv = "";
    for await (const part of await file.createReadStream()) csv += part;
    assert.ok(csv.includes(",'=cmd(),") && csv.includes(`"'=HYPERLINK(""http://x"")"`), csv.slice(0, 1000));

    await page.goto(`${URL_OF_SERVER}/#/editor`);
    await write(page, "PRINT hostile FROM BEGINNING LIMIT 7;");
    await page.keyboard.press("Control+Enter");
    await page.locator(".lines", { hasText: "<script>" }).waitFor();
    await write(page, `SELECT '${HTML}' FROM nowhere;`);
    await page.keyboard.press("Control+Enter");
    await page.locator(".problem", { hasText: "NOWHERE" }).waitFor();
    await unharmed(page);
  });
});

test("an address opens a page and does nothing else", async () => {
  const code = encodeURIComponent(HTML);
  const addresses = ["flow", "source/HOSTILE_COPIES", `source/${code}`, `query/${code}`, `topics/${code}`, `functions/${code}`, `connectors/${code}`, `flow?focus=__proto__&search=${code}`, "__proto__/x", "constructor", "%ff", "/x.example", "log", "server"];
  await withPage(async (page) => {
    for (const address of addresses) {
      await page.goto(`${URL_OF_SERVER}/#/${address}`);
      await page.locator("main").waitFor();
      await unharmed(page);
    }
    await page.goto(`${URL_OF_SERVER}/#/editor?sql=${encodeURIComponent("DROP STREAM hostile_copies;")}`);
    await page.locator(".cm-content", { hasText: "DROP STREAM" }).waitFor();
    await page.goto(`${URL_OF_SERVER}/#/source/HOSTILE_COPIES`);
    await page.getByText("All about").or(page.locator("h1", { hasText: "HOSTILE_COPIES" })).first().waitFor();
  });
});
