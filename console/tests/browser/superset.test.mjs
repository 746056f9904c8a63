// A dashboard of Apache Superset over a table of a real server: its charts, a filter, drill to detail, its refreshes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chromium } from "playwright-core";

const { CHROMIUM, CONSOLE_PICTURES, CONSOLE_URL, EXPECTED, SOON_MS = "120000", SUPERSET_URL } = process.env;
const expected = JSON.parse(EXPECTED);

test("charts show what is in the table, and follow it", async () => {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  const page = await browser.newPage({ viewport: { width: 1300, height: 850 } });
  try {
    page.setDefaultTimeout(Number(SOON_MS));
    await page.route(/googleapis|apachesuperset|scarf|cdn/, (route) => route.abort());
    // viz type -> the rows of its last answer, since most charts are pictures
    const rows = {};
    const refused = [];
    page.on("response", async (response) => {
      if (!/chart\/data|datasource\/samples/.test(response.url())) return;
      const form = JSON.parse(response.request().postData() ?? "{}").form_data ?? {};
      const answer = await response.json().catch(() => ({}));
      if (response.status() !== 200) refused.push(JSON.stringify(answer));
      else rows[form.viz_type ?? "samples"] = answer.result;
    });
    const until = async (what, holds) => {
      const end = Date.now() + Number(SOON_MS);
      while (!(await holds())) {
        assert.deepEqual(refused, []);
        assert.ok(Date.now() < end, `${what}: ${JSON.stringify(rows).slice(0, 3000)}`);
        await new Promise((done) => setTimeout(done, 200));
      }
    };
    await page.goto(SUPERSET_URL);
    await page.locator("#username").fill("admin");
    await page.locator("#password").fill("admin");
    await page.locator("#password").press("Enter");
    await page.waitForURL(/dashboard/);
    if (!page.url().includes("/superset/dashboard/")) await page.goto(SUPERSET_URL);

    const chart = (title) => page.locator(".dashboard-component-chart-holder").filter({ has: page.getByText(title, { exact: true }) });
    const sold = (number) => until(`items sold: ${number}`, async () => (await chart("Items sold").innerText()).includes(number.toLocaleString("en-US")));
    await sold(expected.total);
    await until("days", () => Object.keys(rows.echarts_timeseries_line?.[0].data[0] ?? {}).length === 4);
    const days = rows.echarts_timeseries_line[0].data.flatMap(({ sold_at, ...zones }) => Object.entries(zones).map(([zone, n]) => [zone, sold_at, n]));
    assert.deepEqual(days.sort(), expected.days.sort());
    await until("revenue", () => rows.echarts_timeseries_bar);
    assert.deepEqual(rows.echarts_timeseries_bar[0].data.map((row) => [row.item, row.revenue]).sort(), expected.revenue);
    await until("means", async () => (await chart("Means").locator(".pvtVal").count()) === expected.means.length);
    assert.deepEqual(await chart("Means").locator(".pvtVal").allInnerTexts(), expected.means);

    // the server has the pages of a table
    await until("pages", () => rows.table?.[1]?.data[0].rowcount === expected.count);
    await chart("Sales").getByText("2", { exact: true }).last().click();
    await until("second page", () => rows.table[0].data[0].id === expected.ids[10]);
    assert.deepEqual(rows.table[0].data.map((row) => row.id), expected.ids.slice(10));
    if (CONSOLE_PICTURES) await page.screenshot({ path: `${CONSOLE_PICTURES}/superset.png` });

    // the rows behind a number
    await chart("Items sold").getByLabel("More Options").click();
    await page.getByText("Drill to detail", { exact: true }).click();
    await page.getByRole("dialog").getByText("Manhattan").first().waitFor();
    await until("drill to detail", () => rows.samples?.total_count === expected.count);
    await page.keyboard.press("Escape");

    // a filter
    await page.locator(".ant-select", { hasText: /options/ }).click();
    await page.locator(".ant-select-item-option", { hasText: "Queens" }).click();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Apply filters" }).click();
    await sold(expected.queens);

    // a row that comes is seen without a click
    const ksql = `INSERT INTO ${expected.target} (id, zone, item, amount, price, paid, sold_at) VALUES (999999, 'Queens', 'tea', 1000, 1.00, true, '2026-03-10T00:00:00');`;
    const answer = await fetch(`${CONSOLE_URL}/ksql`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ksql }) });
    assert.equal(answer.status, 200, await answer.text());
    await sold(expected.queens + 1000);
  } finally {
    await browser.close();
  }
});
