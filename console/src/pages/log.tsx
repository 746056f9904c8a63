// The processing log: the records that failed, of all queries or of one.
import "../first.ts";
import { count } from "../format/numbers.ts";
import { Failures } from "../parts/failures.tsx";
import { Range, rangeMinutes } from "../parts/range.tsx";
import { MAX_QUERIES } from "../sql/errors.ts";
import { failedOf, graph } from "../state/graph.ts";
import { formatRoute, route, setOptions } from "../state/route.ts";

/** How far back it goes at first, minutes: failed records are few. */
const MINUTES = "720";

export function LogPage() {
  if (graph.value === null) return null;
  const queries = graph.value.nodes
    .filter((node) => node.kind === "QUERY")
    .map((node) => ({ id: node.name, failed: failedOf(node.figures) }))
    .sort((a, b) => b.failed - a.failed || a.id.localeCompare(b.id));
  const { query, all } = route.value.options;
  const failing = queries.filter((one) => one.failed > 0);
  // to look into the log costs time for each query: into that of the others only where there is nothing else, or if it is wanted
  const isAll = failing.length === 0 || failing.length === queries.length || all !== undefined;
  const wanted = query !== undefined ? queries.filter((one) => one.id === query) : isAll ? queries : failing;
  const shown = wanted.slice(0, MAX_QUERIES);
  return (
    <section class="page">
      <header><h1>Failed records</h1></header>
      {queries.length === 0 ? <p class="hint">No query runs.</p> : (
        <>
          <div class="bar">
            <label>
              Query{" "}
              <select value={query ?? ""} onChange={(event) => setOptions({ query: event.currentTarget.value || undefined })}>
                <option value="">All queries</option>
                {queries.map((one) => <option key={one.id} value={one.id}>{one.id}</option>)}
              </select>
            </label>
            <Range otherwise={MINUTES} />
            {query !== undefined && <a href={formatRoute("query", query)}>All about {query}</a>}
            {wanted.length > MAX_QUERIES && <span class="hint">those of {MAX_QUERIES} queries, of {count(wanted.length)}</span>}
            {query === undefined && !isAll && <><span class="hint">{failing.length === 1 ? "one query has" : `${count(failing.length)} queries have`} some since the server started</span><button class="quiet" onClick={() => setOptions({ all: "1" })}>Older ones of others, too</button></>}
          </div>
          <div class="card flat">
            {shown.length > 0 && <Failures queryIds={shown.map(({ id }) => id).sort()} minutes={rangeMinutes(MINUTES)} counted={shown.reduce((sum, { failed }) => sum + failed, 0)} />}
          </div>
        </>
      )}
    </section>
  );
}
