// A server with users (tests/server/fake_server.py): the log-in, roles, a lost server, errors, many nodes, many rows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, manyNodes, picture, URL_OF_SERVER, withPage, write } from "./browser.mjs";

async function logIn(page, user, password = `password of ${user}`) {
  await page.getByLabel("User").fill(user);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
}

test("a log-in with a password; credentials stay in the tab", async () => {
  await withPage(async (page) => {
    await page.goto(`${URL_OF_SERVER}/`);
    await page.getByRole("heading", { name: "Log in" }).waitFor();
    await accessible(page);
    await picture(page, "login");
    await logIn(page, "rita", "wrong");
    await page.getByRole("alert").waitFor();
    await logIn(page, "rita");
    await page.locator(".node", { hasText: "BIG_1" }).waitFor();
    assert.equal(await page.evaluate(() => JSON.stringify(localStorage).includes("Basic")), false);
    await page.reload();
    await page.locator(".node", { hasText: "BIG_1" }).waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("heading", { name: "Log in" }).waitFor();
  });
});

test("an address that names no page is a page that says so", async () => {
  await withPage(async (page) => {
    await page.goto(`${URL_OF_SERVER}/`);
    await logIn(page, "rita");
    for (const name of ["nothing", "constructor", "toString", "__proto__"]) {
      await page.goto(`${URL_OF_SERVER}/#/${name}`);
      await page.getByText(`The console has no page ${name}.`).waitFor();
    }
  });
});

test("at every width the header and pages begin at the same edge, nothing is wider than the window, and the menu stays where it is", async () => {
  await withPage(async (page) => {
    await page.goto(`${URL_OF_SERVER}/`);
    await logIn(page, "ada");
    await page.locator(".node").first().waitFor();
    const places = new Set();
    for (const width of [1920, 1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      for (const hash of ["query/BIG_1", "source/RIDES", "topics", "topics/rides", "connectors", "log", "functions", "server", "nothing"]) {
        await page.goto(`${URL_OF_SERVER}/#/${hash}`);
        await page.locator("main h1").waitFor();
        const [brand, heading] = await Promise.all([".brand", "main h1"].map((one) => page.locator(one).boundingBox()));
        assert.equal(brand.x, heading.x, hash);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.querySelector("main").scrollWidth <= innerWidth), `${hash} at ${width}`);
        if (width === 1920) places.add((await page.getByRole("link", { name: "Server", exact: true }).boundingBox()).x);
      }
    }
    assert.equal(places.size, 1);
  });
});

test("objects beside the editor: streams with their columns, into the text", async () => {
  await withPage(async (page) => {
    await page.route("**/ksql", async (route) => {
      if (!route.request().postData()?.includes("DESCRIBE STREAMS")) return route.fallback();
      const field = (name, type, part) => ({ name, schema: { type }, ...(part && { type: part }) });
      return route.fulfill({ json: [{ "@type": "source_descriptions", warnings: [], sourceDescriptions: [{ name: "RIDES", type: "STREAM", fields: [field("ZONE", "STRING", "KEY"), field("FARE", "DOUBLE")] }] }] });
    });
    await page.goto(`${URL_OF_SERVER}/#/editor`);
    await logIn(page, "ada");
    const objects = page.getByRole("navigation", { name: "Objects" });
    await objects.getByText("RIDES", { exact: true }).click();
    await objects.getByText("STRING key").waitFor();
    await accessible(page);
    await objects.getByRole("button", { name: "Query it" }).click();
    await page.locator(".cm-line", { hasText: "SELECT * FROM RIDES EMIT CHANGES;" }).waitFor();
    await write(page, "SELECT ");
    await objects.getByLabel("Find a name").fill("fare");
    await objects.getByRole("button", { name: "FARE", exact: true }).click();
    await page.locator(".cm-line", { hasText: /^SELECT FARE$/ }).waitFor();
    await page.getByRole("button", { name: "Objects", exact: true }).click();
    assert.equal(await objects.count(), 0);
  });
});

test("what a role may not do is not offered, and refused in words", async () => {
  await withPage(async (page) => {
    await page.goto(`${URL_OF_SERVER}/#/query/BIG_1`);
    await logIn(page, "rita");
    await page.getByText("Pausing or ending it needs the role developer; yours is reader.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Pause" }).count(), 0);
    for (const [tab, sign] of [
      ["Plan", page.locator(".step", { hasText: "Stream Filter" })],
      ["Errors", page.getByRole("row", { name: /fail.*failed.*The disk is full/ })],
      ["Checkpoints", page.getByRole("heading", { name: "Pauses for checkpoints" })],
    ]) {
      await page.getByRole("link", { name: tab, exact: true }).click();
      await sign.waitFor();
      await accessible(page);
    }
    await page.getByRole("link", { name: "Overview", exact: true }).click();
    await page.goto(`${URL_OF_SERVER}/#/connectors`);
    await page.getByText("A new connector needs the role admin").waitFor();
    await page.goto(`${URL_OF_SERVER}/#/topics/rides`);
    await page.getByText("Reading the records of a topic needs the role developer").waitFor();
    await page.route("**/ksql", (route) =>
      route.request().postData()?.includes("TOPICS") ? route.fulfill({ json: [{ "@type": "kafka_topics", topics: [], warnings: [] }] }) : route.fallback(),
    );
    await page.goto(`${URL_OF_SERVER}/#/topics/nope`);
    await page.getByText("There is no topic nope that you may see.").waitFor();
    // a page that has not learned the role yet: the server refuses
    await page.route("**/rights", (route) => route.abort());
    await page.route("**/graph", async (route) => {
      const body = await (await route.fetch()).json();
      await route.fulfill({ json: { ...body, nodes: body.nodes.map(({ role: _, ...node }) => node) } });
    });
    await page.route("**/ksql", (route) =>
      route.fulfill({ status: 403, contentType: "application/json", body: JSON.stringify({ "@type": "generic_error", error_code: 40300, message: "PAUSE needs the role developer." }) }),
    );
    await page.goto(`${URL_OF_SERVER}/#/query/BIG_1`);
    await page.reload();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
    await page.locator(".problem", { hasText: "needs the role developer" }).first().waitFor();
  });
  await withPage(async (page) => {
    await page.goto(`${URL_OF_SERVER}/#/query/BIG_1`);
    await logIn(page, "ada");
    await page.getByRole("button", { name: "Pause" }).waitFor();
  });
});

test("the editor offers a reader what a reader may do", async () => {
  await withPage(async (page) => {
    await page.goto(`${URL_OF_SERVER}/#/editor`);
    await logIn(page, "rita");
    await page.getByText("what changes something needs the role developer; yours is reader").waitFor();
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+Space");
    const offered = page.locator(".cm-tooltip-autocomplete");
    await offered.getByText("SELECT", { exact: true }).waitFor();
    assert.equal(await offered.getByText("CREATE", { exact: false }).count(), 0);
    await page.keyboard.press("Escape");
    let asked = 0;
    page.on("request", (request) => request.url().endsWith("/ksql") && request.postData()?.includes("DROP") && asked++);
    await write(page, "DROP TYPE address;");
    await page.keyboard.press("Control+Enter");
    await page.locator(".problem", { hasText: "DROP needs the role developer; yours is reader." }).waitFor();
    assert.equal(asked, 0);
    await accessible(page);
  });
  await withPage(async (page) => {
    await page.goto(`${URL_OF_SERVER}/#/editor`);
    await logIn(page, "ada");
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+Space");
    await page.locator(".cm-tooltip-autocomplete").getByText("CREATE STREAM", { exact: true }).waitFor();
  });
});

test("from page to page, through the graph and through results with the keyboard alone", async () => {
  await withPage(async (page) => {
    await page.goto(`${URL_OF_SERVER}/`);
    await page.getByLabel("User").focus();
    await page.keyboard.insertText("ada");
    await page.keyboard.press("Tab");
    await page.keyboard.insertText("password of ada");
    await page.keyboard.press("Enter");
    await page.locator(".node", { hasText: "BIG_1" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("Failed records").waitFor();
    await accessible(page);
    await page.keyboard.press("Escape");
    await page.locator(".node.stream a").focus();
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("title")), "BIG_1");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: /^BIG_1/ }).waitFor();
    await page.locator(".chart [role=img]").first().focus();
    await page.keyboard.press("Home");
    await page.locator(".chart .legend").first().getByText("1.5/s").first().waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("s");
    await page.getByRole("heading", { name: "Properties" }).waitFor();
    await page.locator(".grid tbody tr").nth(1).waitFor();
    await page.locator(".grid .scroll").focus();
    for (const key of ["ArrowDown", "ArrowDown", "ArrowRight"]) await page.keyboard.press(key);
    assert.equal(await page.locator("td.here").innerText(), "127.0.0.1:9092");
    await page.keyboard.press("/");
    await page.keyboard.insertText("bootstrap");
    await page.getByText("1 row").waitFor();
  });
});

test("the graph as lists that can be sorted", async () => {
  await withPage(async (page) => {
    await page.route("**/graph", (route) => route.fulfill({ json: manyNodes() }));
    await page.goto(`${URL_OF_SERVER}/`);
    await logIn(page, "ada");
    await page.getByRole("button", { name: "Lists" }).click();
    assert.ok(page.url().includes("view=lists"));
    const queries = page.locator(".card", { has: page.getByRole("heading", { name: "Queries" }) });
    await queries.getByText("100 rows").waitFor();
    for (const direction of ["ascending", "descending"]) {
      await queries.getByRole("button", { name: /^Lag/ }).click();
      await queries.locator(`th[aria-sort=${direction}]`).waitFor();
    }
    assert.equal(await queries.locator("tbody td").first().innerText(), "Q99");
    await accessible(page);
    await queries.getByRole("link", { name: "Q99" }).click();
    await page.getByRole("heading", { name: /^Q99/ }).waitFor();
    await page.getByText("Its results are in T99.").waitFor();
  });
});

test("a server that is gone is said so, and it is found again", async () => {
  await withPage(async (page) => {
    const status = { lastStatusUpdateMs: 1, activeStandbyPerQuery: {} };
    await page.route("**/clusterStatus", (route) =>
      route.fulfill({ json: { clusterStatus: { "two:8088": { ...status, hostAlive: true }, "three:8088": { ...status, hostAlive: false } } } }),
    );
    await page.route("**/graph", async (route) => {
      const response = await route.fetch();
      await route.fulfill(response.ok() ? { json: { ...(await response.json()), hasServers: true } } : { response });
    });
    await page.goto(`${URL_OF_SERVER}/`);
    await logIn(page, "ada");
    await page.locator(".node", { hasText: "BIG_1" }).waitFor();
    await page.unroute("**/graph");
    await page.route("**/graph", (route) => route.abort());
    assert.equal(await page.getByRole("link", { name: "two:8088" }).getAttribute("href"), "http://two:8088/");
    assert.equal(await page.getByText("three:8088").count(), 0);
    await page.getByText("The server does not answer.").waitFor();
    await accessible(page);
    await page.locator(".node", { hasText: "BIG_1" }).getByText(/^was /).waitFor();
    await picture(page, "gone");
    await page.unroute("**/graph");
    await page.getByText("The server does not answer.").waitFor({ state: "detached" });
    await page.route("**/graph", (route) =>
      route.fulfill({ status: 503, contentType: "application/json", body: JSON.stringify({ error_code: 50302, message: "The server is starting." }) }),
    );
    await page.locator(".banner.idle", { hasText: "The server is starting." }).waitFor();
    await page.getByText("server starting", { exact: true }).waitFor();
    await picture(page, "starting");
  });
});

test("a server that hangs is gone, too", { skip: !process.env.SERVER_PID }, async () => {
  await withPage(async (page) => {
    await page.goto(`${URL_OF_SERVER}/`);
    await logIn(page, "ada");
    await page.locator(".node", { hasText: "BIG_1" }).waitFor();
    process.kill(Number(process.env.SERVER_PID), "SIGSTOP");
    try {
      await page.getByText("The server does not answer.").waitFor();
    } finally {
      process.kill(Number(process.env.SERVER_PID), "SIGCONT");
    }
    await page.getByText("The server does not answer.").waitFor({ state: "detached" });
  });
});

test("errors of statements and pages", async () => {
  await withPage(async (page) => {
    await page.goto(`${URL_OF_SERVER}/#/editor`);
    await logIn(page, "ada");
    await write(page, "SHOW TOPICS;\nDESCRIBE NOWHERE;");
    await page.getByRole("button", { name: "Run all" }).click();
    await page.locator(".problem", { hasText: "NOWHERE" }).waitFor();
    assert.equal(await page.locator(".cm-lintRange-error").innerText(), "NOWHERE");
    await write(page, "DROP STREAM RIDES DELETE TOPIC;");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("dialog").getByText("The server refuses to drop the stream RIDES").waitFor();
    await page.getByRole("dialog").getByText("query BIG_1").waitFor();
    await accessible(page);
    assert.equal(await page.getByRole("dialog").getByRole("button", { name: "Run" }).count(), 0);
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    await page.goto(`${URL_OF_SERVER}/#/source/RIDES`);
    await page.getByRole("button", { name: "Show bytes" }).click();
    await page.locator("pre.hex", { hasText: "ff 00 01 fe" }).waitFor();
    await page.getByText("subject rides-value").waitFor();
    await accessible(page);
    await page.goto(`${URL_OF_SERVER}/#/source/UNKNOWN`);
    await page.getByText("There is no stream, table or view UNKNOWN").waitFor();
    await page.goto(`${URL_OF_SERVER}/#/query/UNKNOWN`);
    await page.getByText("There is no query UNKNOWN").waitFor();
    await page.goto(`${URL_OF_SERVER}/#/unknown`);
    await page.getByText("The console has no page unknown").waitFor();
    await accessible(page);
  });
});

test("the box of a connector leads to its page; the form for a new one waits for Kafka Connect", async () => {
  await withPage(async (page) => {
    await page.route("**/graph", (route) => route.fulfill({ json: { timeMs: 1, nodes: [{ id: "connector:c", kind: "CONNECTOR", name: "c", state: "FAILED" }], edges: [], culprits: [], warnings: [] } }));
    let isGone = true;
    await page.route("**/ksql", async (route) => {
      if (isGone) return route.fulfill({ status: 500, json: { "@type": "generic_error", error_code: 50000, message: "The embedded Connect worker did not start." } });
      return route.fulfill({ json: [{ "@type": "connector_plugins_list", connectorsPlugins: [{ className: "FileStreamSource", type: "source" }], warnings: [] }] });
    });
    await page.goto(`${URL_OF_SERVER}/`);
    await logIn(page, "ada");
    const box = page.locator(".node.connector").getByRole("link");
    await box.getByText("failed").waitFor();
    assert.equal(await box.getAttribute("href"), "#/connectors/c");
    await page.goto(`${URL_OF_SERVER}/#/connectors?create=1`);
    await page.locator(".problem", { hasText: "did not start" }).waitFor();
    assert.equal(await page.locator("option").first().innerText(), "Kafka Connect does not answer");
    isGone = false;
    await page.locator("option", { hasText: "FileStreamSource (source)" }).waitFor({ state: "attached" });
    assert.equal(await page.locator(".problem").count(), 0);
  });
});

// what each page asks for first, and where; the page says what the server said
for (const [hash, asked] of [
  ["flow", "**/graph"],
  ["editor", "**/query-stream"],
  ["source/RIDES", "**/ksql"],
  ["source/RIDES", "**/sources/*/schemas"],
  ["query/BIG_1", "**/queries/*"],
  ["query/BIG_1", "**/ksql"],
  ["topics", "**/ksql"],
  ["topics/rides", "**/topics/*/records*"],
  ["connectors", "**/ksql"],
  ["connectors/c", "**/ksql"],
  ["log", "**/query-stream"],
  ["functions", "**/ksql"],
  ["server", "**/healthcheck"],
]) {
  test(`an error on the page ${hash} of ${asked}`, async () => {
    await withPage(async (page) => {
      await page.goto(`${URL_OF_SERVER}/#/${hash}`);
      await logIn(page, "ada");
      await page.getByRole("button", { name: "Log out" }).waitFor();
      await page.route(asked, (route) =>
        route.fulfill({ status: 500, contentType: "application/json", body: JSON.stringify({ "@type": "generic_error", error_code: 50000, message: "The disk is full." }) }),
      );
      await page.reload();
      if (hash === "editor") {
        await write(page, "SELECT * FROM RIDES EMIT CHANGES;");
        await page.getByRole("button", { name: "Run", exact: true }).click();
      }
      if (asked.includes("records")) await page.getByRole("button", { name: "Show bytes" }).click();
      await page.getByText("The disk is full.").first().waitFor();
      await accessible(page);
    });
  });
}

test("failed records of all queries are marked, counted and listed whole, and lead to their bytes", async () => {
  await withPage(async (page) => {
    const cause = "There is a value that cannot be cast from STRING to INTEGER. ".repeat(8).trim();
    await page.route("**/graph", async (route) => {
      const response = await route.fetch();
      if (!response.ok()) return route.fulfill({ response });
      const body = await response.json();
      const nodes = body.nodes.map((node) => (node.kind === "QUERY" ? { ...node, figures: { ...node.figures, errors: { failed: 2, late: 1 } } } : node));
      return route.fulfill({ json: { ...body, nodes } });
    });
    await page.route("**/query-stream", (route) =>
      route.fulfill({ contentType: "application/vnd.ksql.v1+json", body: [
        '[{"header":{"queryId":"q","schema":"`QUERY` STRING, `TIME` TIMESTAMP, `TOPIC` STRING, `PARTITION` INTEGER, `OFFSET` BIGINT, `MESSAGE` STRING, `CAUSE` STRING, `RECORD` STRING"}},',
        `{"row":{"columns":["BIG_1","2026-11-26T10:00:00.000","rides",2,17,"Column N failed.","${cause}",null]}},`,
        '{"row":{"columns":["BIG_1","2026-11-26T09:00:00.000",null,null,null,"The disk is full",null,"{1: 2}"]}}]',
      ].join("\n") }),
    );
    await page.goto(`${URL_OF_SERVER}/`);
    await logIn(page, "ada");
    await page.locator(".node.query.warn", { hasText: "BIG_1" }).getByText("2 failed").waitFor();
    await page.getByText("1 of 1 running, 2 records failed").waitFor();
    await page.getByRole("link", { name: "Failed records 2" }).click();
    await page.getByText("2 records", { exact: true }).waitFor();
    assert.equal(await page.getByRole("combobox").first().inputValue(), "");
    const shown = page.getByText(cause);
    assert.ok(await shown.evaluate((one) => one.scrollWidth <= one.clientWidth && one.getBoundingClientRect().right <= innerWidth));
    await page.getByText("its row").click();
    await page.getByText("{1: 2}").waitFor();
    await accessible(page);
    await page.getByRole("link", { name: "rides 2/17" }).click();
    await page.locator("pre.hex", { hasText: "ff 00 01 fe" }).waitFor();
    assert.ok(page.url().includes("partition=2") && page.url().includes("offset=17"));
  });
});

test("a page asks for other servers only where there are some, and in a narrow window lists are first", async () => {
  await withPage(async (page) => {
    const asked = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${URL_OF_SERVER}/`);
    await logIn(page, "ada");
    await page.getByRole("heading", { name: "Queries" }).waitFor();
    await page.getByRole("button", { name: "Graph" }).click();
    await page.locator(".node", { hasText: "BIG_1" }).waitFor();
    await page.goto(`${URL_OF_SERVER}/#/server`);
    await page.getByRole("heading", { name: "Health" }).waitFor();
    await page.goto(`${URL_OF_SERVER}/#/editor`);
    assert.equal(await page.getByText("Ctrl-Enter runs").isVisible(), false);
    assert.ok(!asked.includes("/clusterStatus"));
  }, { viewport: { width: 390, height: 800 } });
});

test("rows keep coming until they are stopped", async () => {
  await withPage(async (page) => {
    await page.goto(`${URL_OF_SERVER}/#/editor`);
    await logIn(page, "ada");
    await write(page, "SELECT * FROM RIDES EMIT CHANGES;");
    await page.keyboard.press("Control+Enter");
    await page.getByText("zone 12", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Stopped.").waitFor();
  });
});

test("300 nodes, in dark and in a narrow window", async () => {
  await withPage(async (page) => {
    await page.route("**/graph", (route) => route.fulfill({ json: manyNodes() }));
    await page.route("**/rights", (route) => route.fulfill({ json: { user: "ada", role: "admin", grants: [] } }));
    await page.route("**/clusterStatus", (route) => route.fulfill({ json: { clusterStatus: {} } }));
    await page.goto(`${URL_OF_SERVER}/`);
    await page.locator(".node").first().waitFor();
    assert.equal(await page.locator(".node").count(), 300);
    assert.ok(await page.locator(".node.culprit").isVisible());
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    await accessible(page);
    await picture(page, "many");
    // more than the window shows: a map, which leads to the other end
    const at = await page.locator(".canvas .scroll").evaluate((one) => one.scrollTop);
    const map = await page.locator(".map").boundingBox();
    await page.mouse.click(map.x + map.width / 2, map.y + (at > 100 ? 6 : map.height - 6));
    await page.waitForFunction((before) => Math.abs(document.querySelector(".canvas .scroll").scrollTop - before) > 100, at);
    await page.getByLabel("Search", { exact: true }).fill("Q50");
    assert.equal(await page.locator(".node:not(.faded)").count(), 1);
    assert.ok(page.url().includes("search=Q50"));
    // a box is never smaller than its figures can be read
    assert.ok((await page.locator(".node .figures").first().evaluate((one) => one.getBoundingClientRect().height)) >= 0.8 * 17);
    assert.ok(await page.getByRole("button", { name: "Smaller" }).isDisabled());
    await page.goto(`${URL_OF_SERVER}/#/flow?view=graph`);
    await page.setViewportSize({ width: 390, height: 800 });
    await accessible(page);
    await picture(page, "narrow");
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  }, { colorScheme: "dark" });
});
