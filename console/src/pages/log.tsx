// The processing log: the records that failed, of one query after the other.
import "../first.ts";
import { Failures } from "../parts/failures.tsx";
import { Range, rangeMinutes } from "../parts/range.tsx";
import { count } from "../format/numbers.ts";
import { failedOf, graph } from "../state/graph.ts";
import { formatRoute, route, setOptions } from "../state/route.ts";

export function LogPage() {
  const queries = (graph.value?.nodes ?? [])
    .filter((node) => node.kind === "QUERY")
    .map((node) => ({ id: node.name, errors: failedOf(node.figures) }))
    .sort((a, b) => b.errors - a.errors || a.id.localeCompare(b.id));
  const chosen = route.value.options.query ?? queries[0]?.id;
  return (
    <section class="page">
      <header><h1>Failed records</h1></header>
      {queries.length === 0 && <p class="hint">No query runs.</p>}
      {chosen !== undefined && (
        <>
          <div class="bar">
            <label>
              Query{" "}
              <select value={chosen} onChange={(event) => setOptions({ query: event.currentTarget.value })}>
                {queries.map((one) => <option key={one.id} value={one.id}>{one.id}{one.errors > 0 ? ` (${count(one.errors)} failed)` : ""}</option>)}
              </select>
            </label>
            <Range />
            <a href={formatRoute("query", chosen)}>All about {chosen}</a>
          </div>
          <div class="card flat"><Failures key={chosen} queryId={chosen} minutes={rangeMinutes()} /></div>
        </>
      )}
    </section>
  );
}
