// An empty, real server: one click loads the taxi story, whose rides the page generates.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, picture, pictures, URL_OF_SERVER, withPage } from "./browser.mjs";

test("one click loads the taxi story, and a tour of five steps shows it", async () => {
  await withPage(async (page) => {
    await page.goto(`${URL_OF_SERVER}/`);
    await page.getByRole("button", { name: "Load the taxi story" }).click();
    await page.getByText("Step 1 of 5").waitFor();
    const [shown, tour] = await Promise.all(["main", ".tour"].map((one) => page.locator(one).boundingBox()));
    assert.ok(shown.y + shown.height <= tour.y + 1, "the tour covers the page");
    const node = page.locator(".node.query", { hasText: "CTAS_RIDES_BY_VENDOR" });
    await node.getByText("running").waitFor();
    await node.getByText(/in [1-9]/).waitFor();
    assert.equal(await page.locator(".node.query").count(), 6);
    for (const [step, heading] of [[2, "CTAS_RIDES_BY_VENDOR"], [3, "RIDES"]]) {
      await page.getByRole("button", { name: "Next" }).click();
      await page.getByText(`Step ${step} of 5`).waitFor();
      await page.getByRole("heading", { name: new RegExp(`^${heading}`) }).waitFor();
    }
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText(/the latest of each key/).waitFor();
    await accessible(page);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("heading", { name: "Freshness" }).waitFor();
    await page.getByRole("button", { name: "Done" }).click();
    await page.goto(`${URL_OF_SERVER}/#/flow`);
    await node.getByText(/in [1-9]/).waitFor();
    await picture(page, "console");
    assert.ok((await page.locator(".line.good").count()) > 10 && (await page.locator(".moving").count()) > 5);
    const query = await node.getByRole("link").getAttribute("title");
    await node.getByRole("link").click();
    await page.locator(".step", { hasText: "Stream Aggregate" }).getByText(/in [\d.]+\/s, out [\d.]+\/s|^[\d.]+\/s$/).waitFor();
    await accessible(page);
    await picture(page, "console-query");
    await page.goto(`${URL_OF_SERVER}/#/source/RIDES`);
    await page.getByRole("heading", { name: "Arriving in its topic" }).waitFor();
    await page.getByRole("button", { name: "Watch new ones" }).click();
    await page.locator(".grid tbody tr").nth(9).waitFor();
    await page.locator(".chart canvas").first().waitFor();
    await accessible(page);
    await picture(page, "console-source");
    await page.goto(`${URL_OF_SERVER}/#/topics`);
    // queries count as consumers, and their names lead to their pages
    const rides = page.locator(".grid tbody tr", { has: page.getByRole("link", { name: "rides", exact: true }) });
    await rides.getByRole("link", { name: /^CTAS_RIDES_BY_VENDOR_/ }).waitFor();
    assert.match(await rides.innerText(), /^rides\s+[1-9][\d,]*\s+no limit\s+1\s+1\s+6\s+6\s/);
    assert.equal(await page.getByText("__consumer_offsets").count(), 0);
    await page.getByLabel("Internal topics, too").check();
    await page.getByText("__consumer_offsets").waitFor();
    await accessible(page);
    await pictures(page, {
      flow: ".node", [`query/${query}`]: ".chart canvas", "source/RIDES": ".chart canvas", topics: ".grid tbody tr", "topics/rides": ".figure", editor: ".cm-content",
      connectors: "text=There are none.", log: "main .card", "functions/UCASE": ".examples", server: ".grid tbody tr",
    });
    await page.getByRole("button", { name: "Stop them" }).click();
    assert.equal(await page.getByText("rides sent").count(), 0);
  });
});
