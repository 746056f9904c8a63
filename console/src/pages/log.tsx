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
  const queries = (graph.value?.nodes ?? [])
    .filter((node) => node.kind === "QUERY")
    .map((node) => ({ id: node.name, failed: failedOf(node.figures) }))
    .sort((a, b) => b.failed - a.failed || a.id.localeCompare(b.id));
  const { query } = route.value.options;
  const failing = queries.filter((one) => one.failed > 0);
  const shown = query === undefined ? failing.slice(0, MAX_QUERIES) : [{ id: query, failed: queries.find((one) => one.id === query)?.failed ?? 0 }];
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
            {query === undefined && failing.length > MAX_QUERIES && <span class="hint">of the {MAX_QUERIES} queries with the most, of {count(failing.length)}</span>}
          </div>
          <div class="card flat">
            {shown.length === 0 ? <p class="hint pad">No record has failed since the server started. If the log has older ones, choose a query.</p> : (
              <Failures queryIds={shown.map(({ id }) => id).sort()} minutes={rangeMinutes(MINUTES)} counted={shown.reduce((sum, { failed }) => sum + failed, 0)} />
            )}
          </div>
        </>
      )}
    </section>
  );
}
