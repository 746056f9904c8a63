// Measures the console in Chromium against a server with a fake engine; bench/console.py runs it.
// With names of PARTS: prints one JSON object of their figures. "five": opens five consoles until standard input ends.
import { chromium } from "playwright-core";
import { manyNodes, URL_OF_SERVER, write } from "./browser.mjs";

const LOADS = 7;
const IDLE_MS = 20_000;
const PUSH_MS = 10_000;
const PAGES = ["flow", "editor", "source/RIDES", "query/BIG_1", "topics", "topics/rides", "connectors", "log", "functions", "server"];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const share = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];

async function newPage() {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  page.setDefaultTimeout(240_000);
  return page;
}

/** The CPU time of the page's main thread so far, ms: unlike wall-clock time, it hardly depends on what else runs. */
async function cpuOf(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => (await session.send("Performance.getMetrics")).metrics.find((one) => one.name === "TaskDuration").value * 1000;
}

/** The first contentful paint of an empty cache, and when the graph is drawn, ms; and bytes over the network until the graph is there. */
async function firstPaint() {
  const paints = [];
  const graphs = [];
  const busy = [];
  let bytes = 0;
  for (let load = 0; load < LOADS; load++) {
    const page = await newPage();
    const cpu = await cpuOf(page);
    await page.goto(`${URL_OF_SERVER}/`);
    await page.locator(".node").first().waitFor();
    graphs.push(await page.evaluate(() => performance.now()));
    busy.push(await cpu());
    paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
    bytes = await page.evaluate(() => performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation"))
      .filter((one) => !/\/(graph|rights|clusterStatus)$/.test(one.name)).reduce((all, one) => all + one.transferSize, 0));
    await page.context().close();
  }
  return { firstPaintMs: Math.round(median(paints)), firstPaintsMs: paints.map(Math.round), firstGraphMs: Math.round(median(graphs)), firstPageCpuMs: Math.round(median(busy)), firstPageBytes: bytes };
}

/** How many requests a second each page sends that nobody touches, all of them open at once. */
async function idle() {
  const counted = await Promise.all(PAGES.map(async (hash) => {
    const page = await newPage();
    await page.goto(`${URL_OF_SERVER}/#/${hash}`);
    await page.waitForTimeout(5_000);
    let requests = 0;
    page.on("request", () => requests++);
    await page.waitForTimeout(IDLE_MS);
    await page.context().close();
    return [hash, requests / (IDLE_MS / 1000)];
  }));
  return { idleRequestsPerS: Object.fromEntries(counted) };
}

async function graph() {
  const page = await newPage();
  await page.route("**/graph", (route) => route.fulfill({ json: manyNodes() }));
  await page.goto(`${URL_OF_SERVER}/#/server`);
  await page.getByRole("heading", { name: "Health" }).waitFor();
  const cpu = await cpuOf(page);
  const before = await cpu();
  const took = await page.evaluate(async () => {
    const began = performance.now();
    location.hash = "#/flow";
    while (document.querySelectorAll(".node").length < 300) await new Promise(requestAnimationFrame);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    return performance.now() - began;
  });
  const busy = (await cpu()) - before;
  await page.context().close();
  return { graphOf300Ms: Math.round(took), graphOf300CpuMs: Math.round(busy) };
}

/** How long frames are while rows come. */
async function push(perS) {
  const page = await newPage();
  await page.goto(`${URL_OF_SERVER}/#/editor`);
  await write(page, `SELECT * FROM RIDES -- ${perS}/s\nEMIT CHANGES;`);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator(".grid tbody tr").nth(5).waitFor();
  const cpu = await cpuOf(page);
  const before = await cpu();
  const frames = await page.evaluate((ms) => new Promise((done) => {
    const found = [];
    let before = performance.now();
    const end = before + ms;
    const next = (now) => {
      found.push(now - before);
      before = now;
      if (now < end) requestAnimationFrame(next);
      else done(found);
    };
    requestAnimationFrame(next);
  }), PUSH_MS);
  const busyShare = Number((((await cpu()) - before) / PUSH_MS).toFixed(2));
  const said = await page.locator(".grid .bar span").first().innerText();
  await page.context().close();
  const sorted = frames.toSorted((a, b) => a - b);
  return { perS, frames: frames.length, p50Ms: Math.round(share(sorted, 0.5)), p95Ms: Math.round(share(sorted, 0.95)), p99Ms: Math.round(share(sorted, 0.99)), maxMs: Math.round(sorted.at(-1)), above50Ms: frames.filter((ms) => ms > 50).length, busyShare, said };
}

async function pushes() {
  return { pushes: [await push(1000), await push(5000)] };
}

const PARTS = { paint: firstPaint, graph, idle, push: pushes };
if (process.argv[2] === "five") {
  for (const hash of ["flow", "editor", "source/RIDES", "query/BIG_1", "server"]) await (await newPage()).goto(`${URL_OF_SERVER}/#/${hash}`);
  console.log("open");
  for await (const _ of process.stdin);
} else {
  const figures = {};
  for (const part of process.argv.slice(2)) Object.assign(figures, await PARTS[part]());
  console.log(JSON.stringify(figures));
}
await browser.close();
