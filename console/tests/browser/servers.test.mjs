// One of two real servers that share queries, of which each runs one: its console shows both, with their figures.
import { test } from "node:test";
import { accessible, URL_OF_SERVER, withPage } from "./browser.mjs";

test("what all servers run, at one of them", async () => {
  await withPage(async (page) => {
    await page.goto(`${URL_OF_SERVER}/`);
    await page.getByText("2 of 2 running").waitFor();
    const elsewhere = [];
    for (const name of ["CTAS_COUNTS", "CSAS_COPIES"]) {
      await page.goto(`${URL_OF_SERVER}/#/flow`);
      const node = page.locator(".node.query", { hasText: name });
      await node.getByText(/in [1-9]/).waitFor();
      await node.getByRole("link").click();
      await page.getByRole("heading", { name: new RegExp(`^${name}`) }).waitFor();
      await page.getByText(/^on (first|second):8088$/).waitFor();
      await page.locator(".chart canvas").first().waitFor();
      await page.getByRole("link", { name: "Checkpoints", exact: true }).click();
      await page.getByRole("heading", { name: "Checkpoints", exact: true }).waitFor();
      if (await page.getByText("Another server runs it").count()) elsewhere.push(name);
    }
    if (elsewhere.length !== 1) throw new Error(`${elsewhere.length} queries are said to run on the other server`);
    await page.goto(`${URL_OF_SERVER}/#/server`);
    for (const host of ["first", "second"]) await page.getByRole("row", { name: new RegExp(`^${host}:8088 alive .*(COUNTS|COPIES)`) }).waitFor();
    await accessible(page);
  });
});
