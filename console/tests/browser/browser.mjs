// A page in the system's Chromium, whose errors fail the test.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** Where the server is that is tested. */
export const URL_OF_SERVER = process.env.CONSOLE_URL;
/** How long an answer may take on a busy machine. */
export const SOON_MS = Number(process.env.SOON_MS ?? 240_000);

/** Run `use` with a new page. */
export async function withPage(use, options = {}) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
    page.setDefaultTimeout(SOON_MS);
    const problems = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => {
      // answers that are errors are told of by the page itself
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) problems.push(message.text());
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(URL_OF_SERVER) && !/^(data|blob):/.test(request.url())) problems.push(`request to ${request.url()}`);
    });
    try {
      await use(page);
    } catch (error) {
      const shown = await page.locator("body").innerText().catch(() => "");
      throw new Error(`${error.message}\nThe page at ${page.url()} had:\n${shown.slice(0, 2000)}\n${problems.join("\n")}`, { cause: error });
    }
    assert.deepEqual(problems, []);
  } finally {
    await browser.close();
  }
}

/** Find what keeps people from using a page. */
export async function accessible(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 200)} ${node.failureSummary}`).join(" | ")}`), []);
}

/** Take a screenshot where one is wanted. */
export async function picture(page, name) {
  if (process.env.CONSOLE_PICTURES) await page.screenshot({ path: `${process.env.CONSOLE_PICTURES}/${name}.png` });
}

/** Take screenshots of pages, light, dark and narrow, where they are wanted: of each its hash, and what it has once it is complete. */
export async function pictures(page, pages) {
  if (!process.env.CONSOLE_PICTURES) return;
  for (const [looks, width] of [["light", 1280], ["wide", 1920], ["dark", 1280], ["narrow", 390]]) {
    await page.setViewportSize({ width, height: 800 });
    const wanted = looks === "dark" ? "dark" : "light";
    if ((await page.evaluate(() => document.documentElement.dataset.theme)) !== wanted) await page.getByRole("button", { name: `Use ${wanted} colours` }).click();
    for (const [hash, sign] of Object.entries(pages)) {
      await page.evaluate((to) => (location.hash = to), `#/${hash}`); // what the page does goes on
      await page.locator(sign).first().waitFor();
      await picture(page, `${looks}-${hash.replace(/\/.*/, "-one")}`);
    }
  }
}

/** Replace what is in the editor. */
export async function write(page, text) {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(text);
}

/** An answer of GET /graph with 300 nodes that are drawn. */
export function manyNodes() {
  const nodes = [];
  const edges = [];
  for (let i = 0; i < 100; i++) {
    const figures = { readPerS: i, writtenPerS: i, arrivingPerS: i, lagRecords: i, lagSeconds: 0, latencySeconds: 0.1, errors: {}, failures: 0, stateRows: null, stateBytes: null };
    nodes.push({ id: `stream:S${i}`, kind: "STREAM", name: `S${i}`, topic: `s${i}` }, { id: `query:Q${i}`, kind: "QUERY", name: `Q${i}`, state: "RUNNING", figures });
    nodes.push({ id: `table:T${i}`, kind: "TABLE", name: `T${i}`, topic: `t${i}` });
    edges.push({ source: `stream:S${i}`, target: `query:Q${i}` }, { source: `query:Q${i}`, target: `table:T${i}` });
    if (i % 10) edges.push({ source: `table:T${i - 1}`, target: `query:Q${i}` });
  }
  return { timeMs: 1, nodes, edges, culprits: [{ queryId: "Q77", reason: "It falls behind." }], warnings: [] };
}
