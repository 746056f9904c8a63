// Home: what flows where, how fast, and what is in the way.
import { Canvas } from "../graph/canvas.tsx";
import { grouped } from "../graph/culprits.ts";
import { Lists } from "../parts/lists.tsx";
import { prefixes, shapeOf } from "../graph/shape.ts";
import { graph, graphProblem, isLog } from "../state/graph.ts";
import { formatRoute, route, setOptions } from "../state/route.ts";
import { serverGone } from "../api/client.ts";
import { Welcome } from "./welcome.tsx";

/** As in style.css. */
const NARROW_PX = 768;

export function FlowPage() {
  const now = graph.value;
  if (now === null) {
    return (
      <>
        <h1 class="hidden">Flow</h1>
        {serverGone.value === null && <p class="hint pad" role="status">{graphProblem.value ?? "Asking the server …"}</p>}
      </>
    );
  }
  if (now.nodes.every((node) => node.kind === "TOPIC" || isLog(node.name))) return <Welcome />;
  const { focus, search = "", topics, collapse, view } = route.value.options;
  // where there is no place for a graph, lists are first
  const asLists = view === undefined ? innerWidth <= NARROW_PX : view === "lists";
  const collapsed = collapse ? collapse.split(",") : [];
  const without = { ...now, nodes: now.nodes.filter((node) => !isHidden(node, now.edges)) };
  const shape = shapeOf(without, { topics: topics === "all", collapsed, ...(focus ? { focus } : {}) });
  const toggle = (prefix: string) =>
    setOptions({ collapse: (collapsed.includes(prefix) ? collapsed.filter((one) => one !== prefix) : [...collapsed, prefix]).join(",") || undefined });
  return (
    <section class="flow">
      <h1 class="hidden">Flow</h1>
      <div class="bar">
        <span role="group" aria-label="View" class="views">
          <button class="chip" aria-pressed={!asLists} onClick={() => setOptions({ view: "graph" })}>Graph</button>
          <button class="chip" aria-pressed={asLists} onClick={() => setOptions({ view: "lists" })}>Lists</button>
        </span>
        {!asLists && <>
        <label class="hidden" for="search">Search</label>
        <input id="search" type="search" placeholder="Search" value={search} onInput={(event) => setOptions({ search: event.currentTarget.value })} />
        <label class="check">
          <input type="checkbox" checked={topics === "all"} onChange={(event) => setOptions({ topics: event.currentTarget.checked ? "all" : undefined })} /> All topics
        </label>
        {prefixes(without).slice(0, 6).map(({ prefix, count }) => (
          <button key={prefix} class="chip" aria-pressed={collapsed.includes(prefix)} onClick={() => toggle(prefix)} title={`Draw all of ${prefix}… as one`}>
            {prefix}… {count}
          </button>
        ))}
        </>}
        {focus && !asLists && <button class="chip" onClick={() => setOptions({ focus: undefined })}>only {focus} ✕</button>}
      </div>
      {grouped(now.culprits).map(({ ids, said }) => (
        <p class="banner warn" key={ids[0]} role="status">
          {ids.map((id, at) => <>{at > 0 && ", "}<a href={formatRoute("query", id)}>{id}</a></>)} {said}
        </p>
      ))}
      {now.warnings.map((text) => <p class="banner warn" key={text}>{text}</p>)}
      {asLists ? <Lists graph={without} /> : <Canvas shape={shape} search={search} culprits={new Set(now.culprits.map((one) => `query:${one.queryId}`))} />}
    </section>
  );
}

/** The processing log is drawn only where a query reads it. */
function isHidden(node: { id: string; name: string; topic?: string }, edges: { source: string; target: string }[]): boolean {
  const isRead = (id: string): boolean => edges.some((edge) => edge.source === id && (edge.target.startsWith("query:") || isRead(edge.target)));
  return isLog(node.name) && !isRead(node.id);
}
