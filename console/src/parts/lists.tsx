// The graph as lists, which can be sorted and filtered.
import type { Graph, GraphNode } from "../api/types.ts";
import { bytes, rate, short, span } from "../format/numbers.ts";
import { wordOf } from "./state.tsx";
import { formatRoute } from "../state/route.ts";
import { Grid } from "./grid.tsx";

const QUERIES = ["Query", "State", "Cause", "In", "Out", "Lag", "Waiting", "p95 latency", "State size", "Errors", "Restarts", "Server"];
const SOURCES = ["Name", "Kind", "Topic", "Keys", "Values", "Written by", "Read by"];
const number = (cell: unknown) => cell as number | null;
const FORMATS = {
  In: (cell: unknown) => rate(number(cell)), Out: (cell: unknown) => rate(number(cell)), Lag: (cell: unknown) => short(number(cell)),
  Waiting: (cell: unknown) => span(number(cell)), "p95 latency": (cell: unknown) => span(number(cell)), "State size": (cell: unknown) => bytes(number(cell)),
};

export function Lists({ graph }: { graph: Graph }) {
  const of = (...kinds: GraphNode["kind"][]) => graph.nodes.filter((node) => kinds.includes(node.kind));
  const causes = new Set(graph.culprits.map((one) => one.queryId));
  const queries = of("QUERY").map((node) => {
    const { figures } = node;
    const bad = Object.values(figures?.errors ?? {}).reduce((all, one) => all + one, 0);
    return [
      node.name, wordOf(node.state), causes.has(node.name) ? "the cause" : "", figures?.readPerS ?? null, figures?.writtenPerS ?? null, figures?.lagRecords ?? null,
      figures?.lagSeconds ?? null, figures?.latencySeconds ?? null, figures?.stateBytes ?? null, bad, figures?.failures ?? 0, node.host ?? "",
    ];
  });
  const ends = (id: string, from: "source" | "target", to: "source" | "target") =>
    graph.edges.filter((edge) => edge[from] === id && edge[to].startsWith("query:")).map((edge) => edge[to].slice("query:".length)).join(", ");
  const sources = of("STREAM", "TABLE").map((node) => [
    node.name, node.kind.toLowerCase(), node.topic ?? "", node.formats?.[0] ?? "", node.formats?.[1] ?? "",
    ends(`topic:${node.topic}`, "target", "source"), ends(node.id, "source", "target"),
  ]);
  return (
    <div class="page">
      <div class="card flat"><h2>Queries</h2><Grid columns={columns(QUERIES)} rows={queries} formats={FORMATS} label="Queries" linkOf={(row) => formatRoute("query", String(row[0]))} /></div>
      <div class="card flat"><h2>Streams and tables</h2><Grid columns={columns(SOURCES)} rows={sources} label="Streams and tables" linkOf={(row) => formatRoute("source", String(row[0]))} /></div>
    </div>
  );
}

function columns(names: string[]) {
  return names.map((name) => ({ name, type: "" }));
}
