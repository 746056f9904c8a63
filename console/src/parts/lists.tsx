// The graph as lists, which can be sorted and filtered.
import { run } from "../api/client.ts";
import type { Column } from "../api/frames.ts";
import type { Graph, GraphNode } from "../api/types.ts";
import { bytes, count, short, span } from "../format/numbers.ts";
import { wordOf } from "./state.tsx";
import { useAsked } from "../state/asked.ts";
import { failedOf } from "../state/graph.ts";
import { formatRoute } from "../state/route.ts";
import { Grid } from "./grid.tsx";

/** Columns with their units. */
const QUERIES = [["Query"], ["State"], ["Cause"], ["Read", "records/s"], ["Written", "records/s"], ["Lag", "records"], ["Waiting"], ["p95 latency"], ["State size"], ["Errors", "records"], ["Late", "records"], ["Restarts"], ["Server"]] as const;
const SOURCES = [["Name"], ["Kind"], ["Arriving", "records/s"], ["Records"], ["Topic"], ["Keys"], ["Values"], ["Written by"], ["Read by"]] as const;
const VIEWS = [["Name"], ["Query"]] as const;
const number = (shown: (value: number | null) => string) => (cell: unknown) => shown(cell as number | null);
const FORMATS = {
  State: (cell: unknown) => <span class={String(cell).includes("failed") ? "bad" : ""}>{String(cell)}</span>,
  Read: number(short), Written: number(short), Lag: number(count), Waiting: number(span), "p95 latency": number(span), "State size": number(bytes),
  Errors: (cell: unknown) => <span class={cell === 0 ? "" : "bad"}>{count(cell as number)}</span>,
  Arriving: number(short), Records: number(count), Topic: linksTo("topics"), "Written by": linksTo("query"), "Read by": linksTo("query"),
};

export function Lists({ graph }: { graph: Graph }) {
  const of = (...kinds: GraphNode["kind"][]) => graph.nodes.filter((node) => kinds.includes(node.kind));
  const causes = new Set(graph.culprits.map((one) => one.queryId));
  const queries = of("QUERY").map((node) => {
    const { figures } = node;
    const failed = failedOf(figures);
    return [
      node.name, failed > 0 ? `${wordOf(node.state)}, ${short(failed)} failed` : wordOf(node.state), causes.has(node.name) ? "the cause" : "", figures?.readPerS ?? null, figures?.writtenPerS ?? null, figures?.lagRecords ?? null,
      figures?.lagSeconds ?? null, figures?.latencySeconds ?? null, figures?.stateBytes ?? null, failed, figures?.errors.late || "", figures?.failures || "", node.host ?? "",
    ];
  });
  const ends = (id: string, from: "source" | "target", to: "source" | "target") =>
    graph.edges.filter((edge) => edge[from] === id && edge[to].startsWith("query:")).map((edge) => edge[to].slice("query:".length)).join(", ");
  const sources = of("STREAM", "TABLE").map((node) => [
    node.name, node.kind.toLowerCase(), node.topicFigures?.arrivingPerS ?? null, node.topicFigures?.records ?? null, node.topic ?? "", node.formats?.[0] ?? "", node.formats?.[1] ?? "",
    ends(`topic:${node.topic}`, "target", "source"), ends(node.id, "source", "target"),
  ]);
  const asked = useAsked(() => run("SHOW VIEWS;"), "views", 20_000);
  const views = asked.value?.[0]?.views?.map((one) => [one.name, one.query]) ?? [];
  return (
    <div class="page">
      <div class="card flat"><h2>Queries</h2><Grid {...list(QUERIES, queries)} formats={FORMATS} label="Queries" linkOf={(row) => formatRoute("query", String(row[0]))} /></div>
      <div class="card flat"><h2>Streams and tables</h2><Grid {...list(SOURCES, sources)} formats={FORMATS} label="Streams and tables" linkOf={(row) => formatRoute("source", String(row[0]))} /></div>
      {views.length > 0 && <div class="card flat"><h2>Views</h2><Grid {...list(VIEWS, views)} label="Views" linkOf={(row) => formatRoute("source", String(row[0]))} /></div>}
    </div>
  );
}

/** A list without the columns that are empty in all rows; a column has a name and the unit of its numbers. */
export function list(names: readonly (readonly [name: string, unit?: string])[], rows: unknown[][]): { columns: Column[]; rows: unknown[][] } {
  const kept = names.map((_, at) => at).filter((at) => rows.length === 0 || rows.some((row) => row[at] !== ""));
  return { columns: kept.map((at) => ({ name: names[at]![0], type: names[at]![1] ?? "" })), rows: rows.map((row) => kept.map((at) => row[at])) };
}

/** How a cell with names is shown: each as a link to its page. */
export function linksTo(page: string) {
  return (cell: unknown) => String(cell ?? "").split(", ").filter(Boolean).map((name, at) => <>{at > 0 && ", "}<a key={name} href={formatRoute(page, name)}>{name}</a></>);
}
