import assert from "node:assert/strict";
import { test } from "node:test";
import type { Graph, GraphNode } from "../src/api/types.ts";
import { grouped } from "../src/graph/culprits.ts";
import { flows, lineKey } from "../src/graph/flows.ts";
import { fitted, layout, layoutOfParts, sizeOf } from "../src/graph/layout.ts";
import { connected, prefixes, shapeOf } from "../src/graph/shape.ts";
import { effectOf, isCascade } from "../src/sql/effect.ts";
import { own, type Statement } from "../src/sql/statements.ts";
import { formatRoute, parseRoute } from "../src/state/route.ts";

const node = (id: string, topic?: string): GraphNode => {
  const [kind, name] = id.split(":") as [string, string];
  return { id, kind: kind.toUpperCase() as GraphNode["kind"], name, ...(topic ? { topic } : {}) };
};

const GRAPH: Graph = {
  timeMs: 1,
  culprits: [],
  warnings: [],
  nodes: [node("topic:rides"), node("stream:RIDES", "rides"), node("query:Q1"), node("topic:BIG"), node("stream:BIG", "BIG"), node("table:BIG2", "BIG"), node("topic:x")],
  edges: [
    { source: "topic:rides", target: "stream:RIDES" },
    { source: "stream:RIDES", target: "query:Q1" },
    { source: "query:Q1", target: "topic:BIG" },
    { source: "topic:BIG", target: "stream:BIG" },
    { source: "topic:BIG", target: "table:BIG2" },
    { source: "query:gone", target: "topic:x" },
  ],
};

test("a topic with one source is drawn with it, others by themselves", () => {
  const shape = shapeOf(GRAPH, { topics: false });
  assert.deepEqual(shape.boxes.map((box) => box.id), ["stream:RIDES", "query:Q1", "topic:BIG", "stream:BIG", "table:BIG2", "topic:x"]);
  assert.deepEqual(shape.lines[0], { source: "stream:RIDES", target: "query:Q1" });
  assert.equal(shapeOf(GRAPH, { topics: true }).boxes.length, 7);
});

test("what a new version writes is drawn with its table", () => {
  const nodes = [...GRAPH.nodes.slice(0, 2), { ...node("query:Q1"), newVersionOf: "COUNTS" }, node("topic:Q1-evolution"), node("table:COUNTS", "COUNTS")];
  const edges = [...GRAPH.edges.slice(0, 2), { source: "query:Q1", target: "topic:Q1-evolution" }];
  const shape = shapeOf({ ...GRAPH, nodes, edges }, { topics: false });
  assert.deepEqual(shape.lines.at(-1), { source: "query:Q1", target: "table:COUNTS" });
  assert.equal(shape.boxes.length, 3);
  assert.deepEqual(flows(shape).get(lineKey(shape.lines.at(-1)!)), { perS: null, looks: "beside" });
});

test("figures do not change the shape", () => {
  const other = { ...GRAPH, nodes: GRAPH.nodes.map((one) => ({ ...one, state: "ERROR" })) };
  assert.equal(shapeOf(other, { topics: false }).key, shapeOf(GRAPH, { topics: false }).key);
  assert.notEqual(shapeOf(GRAPH, { topics: true }).key, shapeOf(GRAPH, { topics: false }).key);
});

test("a focus keeps what comes before and after, not what is beside", () => {
  const shape = shapeOf(GRAPH, { topics: false, focus: "stream:BIG" });
  assert.deepEqual(shape.boxes.map((box) => box.id), ["stream:RIDES", "query:Q1", "topic:BIG", "stream:BIG"]);
  assert.deepEqual([...connected("a", [{ source: "a", target: "b" }, { source: "b", target: "a" }])], ["a", "b"]);
});

test("names with a prefix can be one box", () => {
  const shape = shapeOf(GRAPH, { topics: false, collapsed: ["BIG"] });
  assert.deepEqual(shape.boxes.map((box) => box.id), ["stream:RIDES", "query:Q1", "group:BIG", "topic:x"]);
  const names = ["stream:A_1", "table:A_2", "stream:B_1", "query:A_3"].map((id) => node(id));
  assert.deepEqual(prefixes({ ...GRAPH, nodes: names }), [{ prefix: "A_", count: 2 }]);
});

test("the layout goes from left to right, without overlaps", () => {
  const placed = layout(shapeOf(GRAPH, { topics: false }));
  const at = (id: string) => placed.boxes.get(id)!;
  assert.ok(at("stream:RIDES").x < at("query:Q1").x && at("query:Q1").x < at("topic:BIG").x);
  const [one, other] = [at("stream:BIG"), at("table:BIG2")].sort((a, b) => a.y - b.y);
  assert.ok(one!.y + one!.height <= other!.y);
  assert.ok(placed.lines.every((line) => line.points.length >= 2));
  assert.equal(layout({ boxes: [], lines: [], key: "" }).boxes.size, 0);
});

test("boxes are equal and stand in one grid; a step is as high as what it says", () => {
  const nodes = [node("stream:A"), node("query:LONG_NAME_OF_A_QUERY_THAT_IS_WIDE_1"), node("query:Q2"), node("stream:B"), node("query:Q3")];
  const edges = [...nodes.slice(1, 3).map((one) => ({ source: "stream:A", target: one.id })), { source: "stream:B", target: "query:Q3" }];
  const placed = layout(shapeOf({ ...GRAPH, nodes, edges }, { topics: false }), 2000);
  const boxes = [...placed.boxes.values()];
  assert.deepEqual([new Set(boxes.map((box) => `${box.width} ${box.height}`)).size, new Set(boxes.map((box) => box.x)).size, new Set(boxes.map((box) => box.y)).size], [1, 4, 2]);
  const step = (...says: string[]) => sizeOf({ id: "s", kind: "STEP", name: "Filter", nodes: [], says }).height;
  assert.equal(step("word ".repeat(20).trim()) - step("word"), 3 * (step("word") - step()));
  assert.ok(step("X".repeat(200)) > step("X".repeat(100)));
});

test("lines leave a box at places of their own, and pass between others", () => {
  const nodes = ["stream:A", "query:Q1", "table:B", "query:Q2", "query:Q3"].map((id) => node(id));
  const edges = [["stream:A", "query:Q1"], ["query:Q1", "table:B"], ["table:B", "query:Q2"], ["stream:A", "query:Q2"], ["stream:A", "query:Q3"]].map(([source, target]) => ({ source: source!, target: target! }));
  const placed = layout(shapeOf({ ...GRAPH, nodes, edges }, { topics: false }));
  const leaving = placed.lines.filter((line) => line.source === "stream:A");
  assert.equal(new Set(leaving.map(({ points }) => points[0]!.y)).size, 3);
  const crossed = leaving.flatMap(({ points }) => points.slice(1, -1)).filter(({ x, y }) => [...placed.boxes.values()].some((box) => box.x < x && x < box.x + box.width && box.y < y && y < box.y + box.height));
  assert.deepEqual(crossed, []);
});

test("parts that do not hang together are side by side where there is place, else one below the other", () => {
  const nodes = ["a", "b", "c"].map((name) => node(`stream:${name}`));
  const shape = shapeOf({ ...GRAPH, nodes, edges: [{ source: "stream:a", target: "stream:b" }] }, { topics: false });
  for (const [width, isBeside] of [[0, false], [2000, true]] as const) {
    const placed = layout(shape, width);
    const [a, b, c] = nodes.map((one) => placed.boxes.get(one.id)!);
    assert.equal(a!.y, b!.y);
    assert.equal(c!.y === a!.y && c!.x > b!.x + b!.width, isBeside);
    assert.ok(isBeside || (c!.y > a!.y + a!.height && c!.x === a!.x && placed.height > c!.y));
  }
});

test("a part takes the place beside another one that is narrower there, and nothing overlaps", () => {
  // a wide part with a long tail, and two narrow ones with as many rows as it has
  const star = (name: string, branches: number) => Array.from({ length: branches }, (_, at) => [[`stream:${name}`, `query:${name}${at}`], [`query:${name}${at}`, `table:${name}${at}`]]).flat();
  const pairs = [...star("A", 6), ["table:A0", "query:AA"], ["query:AA", "table:AA"], ["stream:A", "query:AA"], ...star("B", 6), ...star("C", 2)];
  const nodes = [...new Set(pairs.flat())].map((id) => node(id!));
  const placed = layout(shapeOf({ ...GRAPH, nodes, edges: pairs.map(([source, target]) => ({ source: source!, target: target! })) }, { topics: false }), 1600);
  const boxes = [...placed.boxes.values()];
  assert.ok(boxes.every((one, at) => boxes.slice(at + 1).every((other) => one.x + one.width <= other.x || other.x + other.width <= one.x || one.y + one.height <= other.y || other.y + other.height <= one.y)));
  const rows = new Set(boxes.map(({ y }) => y)).size;
  assert.ok(placed.width <= 1600 && rows < 6 + 6, `${rows} rows`);
});

test("a graph is as large as the window has place for, and never smaller than can be read", () => {
  const nodes = Array.from({ length: 60 }, (_, at) => node(`stream:S${at}`));
  const graph = (count: number) => layoutOfParts(shapeOf({ ...GRAPH, nodes: nodes.slice(0, count), edges: [] }, { topics: false }));
  assert.deepEqual([2, 20, 60].map((count) => fitted(graph(count), [0.8, 1, 1.25], 1280, 700).scale), [1.25, 1, 0.8]);
  const { placed } = fitted(graph(60), [0.8, 1, 1.25], 1280, 700);
  assert.ok(placed.width * 0.8 <= 1280 && placed.height * 0.8 > 700);
});

test("a chain of seven columns and a graph of seven rows fit in a window of 1280 by 800", () => {
  const chain = ["S", "Q", "T", "Q2", "T2", "Q3", "T3"].map((name) => `stream:${name}`);
  const edges = chain.slice(1).map((target, at) => ({ source: chain[at]!, target }));
  const rows = Array.from({ length: 6 }, (_, at) => `stream:R${at}`);
  const ends = rows.flatMap((row) => [{ source: "stream:S", target: row }]);
  const shape = shapeOf({ ...GRAPH, nodes: [...chain, ...rows].map((id) => node(id)), edges: [...edges, ...ends] }, { topics: false });
  const { placed, scale } = fitted(layoutOfParts(shape), [0.8, 1], 1280, 650);
  assert.ok(scale === 0.8 && placed.width * scale <= 1280 && placed.height * scale <= 650, `${placed.width} × ${placed.height}`);
});

test("queries that have failed for one reason are said together", () => {
  const failed = (queryId: string, left: number, cause: string) => ({ queryId, reason: `It has failed, ${left} records wait: ${cause}` });
  const restarting = "Spark is restarting. Then this query continues.";
  assert.deepEqual(grouped([failed("A", 3, restarting), failed("B", 4, restarting), { queryId: "C", reason: "It falls behind." }, failed("D", 1, "No topic.")]), [
    { ids: ["A", "B"], said: "have failed: Spark is restarting. Then they continue." },
    { ids: ["C"], said: "falls behind." },
    { ids: ["D"], said: "has failed, 1 records wait: No topic." },
  ]);
});

test("300 nodes take less than a second or so", () => {
  const nodes: GraphNode[] = [];
  const edges: Graph["edges"] = [];
  for (let i = 0; i < 100; i++) {
    nodes.push(node(`stream:S${i}`, `s${i}`), node(`query:Q${i}`), node(`table:T${i}`, `t${i}`));
    edges.push({ source: `stream:S${i}`, target: `query:Q${i}` }, { source: `query:Q${i}`, target: `table:T${i}` });
    if (i > 0) edges.push({ source: `table:T${Math.floor(i / 3)}`, target: `query:Q${i}` });
  }
  const placed = layout(shapeOf({ ...GRAPH, nodes, edges }, { topics: false }));
  assert.equal(placed.boxes.size, 300);
});

test("pages in the URL", () => {
  assert.deepEqual(parseRoute(formatRoute("source", "a b/c", { range: "60", q: undefined })), { page: "source", name: "a b/c", options: { range: "60" } });
  assert.equal(parseRoute("").page, "flow");
});

test("what statements pause, end or remove", () => {
  const statement = (verb: string, object: string, name: string, more: Partial<Statement> = {}): Statement => ({ ...own(""), text: `${verb} ${name};`, verb, object, name, ...more });
  assert.equal(effectOf(statement("DROP", "STREAM", "BIG"), GRAPH)?.what, "The stream BIG is removed, with query Q1 if that was created with it; its topic stays.");
  const whole = effectOf(statement("DROP", "TABLE", "BIG2", { deletesTopic: true }), GRAPH)!;
  assert.equal(whole.what, "The table BIG2 is removed, with query Q1 if that was created with it, and the topic BIG with all its records.");
  assert.deepEqual(effectOf(statement("TERMINATE", "QUERY", "Q1"), GRAPH)?.affected, ["stream BIG", "table BIG2"]);
  assert.deepEqual(effectOf(statement("TERMINATE", "QUERY", "ALL"), GRAPH)?.affected, ["query Q1"]);
  assert.equal(effectOf(statement("PAUSE", "QUERY", "Q1"), GRAPH)?.what, "The query Q1 reads no more records until it is resumed.");
  for (const none of [own("SELECT 1;"), statement("RESUME", "QUERY", "Q1")]) assert.equal(effectOf(none, GRAPH), null);
});

test("all that removes rows or objects asks, and ROLLBACK says what it takes back", () => {
  const what = (text: string, object: string, name: string) => effectOf({ ...own(text), verb: text.split(" ")[0]!, object, name, isQuery: false }, GRAPH)?.what;
  assert.equal(what("DROP VIEW v;", "VIEW", "V"), "The view is removed. Queries that run with it go on; new ones can no longer read it.");
  assert.equal(what("DROP FUNCTION f;", "FUNCTION", "F"), "The function F is removed.");
  assert.equal(what("TRUNCATE TABLE t;", "TABLE", "T"), "All rows of T are deleted.");
  assert.equal(what("FORGET FROM t WHERE k = 1;", "FROM", "T"), "The keys are removed from T and from the state of its query. Nothing takes that back.");
  assert.equal(what("FORGET FROM t WHERE k = 1 WITH (PREVIEW = true);", "FROM", "T"), undefined);
  assert.equal(what("ROLLBACK big;", "BIG", ""), "It takes the last change back: the version before it is restored. A second ROLLBACK undoes this one.");
  assert.equal(what("ROLLBACK big TO VERSION 2;", "BIG", "TO"), "It takes back all changes after version 2, which is restored. A second ROLLBACK undoes this one.");
});

const drop = (text: string, name: string): Statement => ({ ...own(text), verb: "DROP", object: "STREAM", name, isQuery: false });

test("a DROP that the server will refuse says who is in its way, and what to do", () => {
  assert.deepEqual(effectOf(drop("DROP STREAM RIDES;", "RIDES"), GRAPH), {
    statement: "DROP STREAM RIDES;",
    what: "The server refuses to drop the stream RIDES while queries read it or insert into it. Drop what they created and terminate the others first, or add CASCADE, which does that too.",
    about: "These are in the way:",
    affected: ["query Q1"],
    isRefused: true,
  });
  const inserting = { ...GRAPH, nodes: GRAPH.nodes.map((one) => (one.id === "query:Q1" ? { ...one, statement: "INSERT INTO big SELECT * FROM rides;" } : one)) };
  assert.deepEqual(effectOf(drop("DROP STREAM BIG;", "BIG"), inserting)?.affected, ["query Q1"]);
});

test("DROP … CASCADE removes what was created from it", () => {
  for (const text of ["DROP STREAM RIDES CASCADE;", "drop stream if exists rides\n cascade ;"]) {
    const { what, affected } = effectOf(drop(text, "RIDES"), GRAPH)!;
    assert.ok(isCascade(drop(text, "RIDES")) && affected.length === 0);
    assert.equal(what, "The stream RIDES is removed with all that was created from it, and each query that reads or writes any of that ends; the topics stay.");
  }
  assert.ok(!isCascade(drop("DROP STREAM CASCADE;", "CASCADE")) && !isCascade(drop("DROP STREAM RIDES;", "RIDES")));
});
