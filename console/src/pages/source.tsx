// A stream or table: what is in it, who writes and reads it, and how much.
import { useState } from "preact/hooks";
import { get, run } from "../api/client.ts";
import type { Field, MetricsHistory, RunningQuery, SchemaInfo } from "../api/types.ts";
import { count, rate } from "../format/numbers.ts";
import { Chart } from "../parts/chart.tsx";
import { Code } from "../parts/code.tsx";
import { FreshnessCard } from "../parts/freshness.tsx";
import { Problem } from "../parts/problem.tsx";
import { Range, rangeMinutes } from "../parts/range.tsx";
import { RawRecordsCard } from "../parts/raw-records.tsx";
import { Records } from "../parts/records.tsx";
import { Schemas } from "../parts/schemas.tsx";
import { State } from "../parts/state.tsx";
import { wherePosition } from "../sql/position.ts";
import { nameInSql } from "../sql/split.ts";
import { useAsked } from "../state/asked.ts";
import { formatRoute, route } from "../state/route.ts";

export function SourcePage() {
  const { name } = route.value;
  const minutes = rangeMinutes();
  const described = useAsked(() => run(`DESCRIBE ${nameInSql(name)} EXTENDED;`), name, 10_000);
  const history = useAsked(() => get<MetricsHistory>(`metrics/history?minutes=${minutes}`), String(minutes), 5_000);
  const found = described.value?.[0]?.sourceDescription;
  if (found === undefined) {
    return (
      <section class="page">
        <header><h1>{name}</h1></header>
        {described.error !== null ? <Problem error={described.error} /> : <p class="hint" role="status">Asking the server …</p>}
      </section>
    );
  }
  const times = history.value?.timesMs ?? [];
  const sumOf = (queries: RunningQuery[], of: "writtenPerS" | "readPerS") => sum(times.length, queries.flatMap((query) => history.value?.queries[query.id]?.[of] ?? []), queries.length);
  const writers = found.writeQueries.filter((query) => history.value?.queries[query.id]);
  const readers = found.readQueries.filter((query) => history.value?.queries[query.id]);
  return (
    <section class="page">
      <header>
        <h1>{name}</h1>
        <span class="state idle">{found.type.toLowerCase()}{found.windowType ? `, ${found.windowType.toLowerCase()} windows` : ""}</span>
        <span class="space" />
        <a href={formatRoute("flow", "", { focus: `${found.type.toLowerCase()}:${name}` })}>In the flow</a>
        <a href={formatRoute("editor", "", { sql: `SELECT * FROM ${nameInSql(name)} EMIT CHANGES;` })}>Query it</a>
      </header>
      <Sample name={name} />
      <FreshnessCard name={name} />
      {(writers.length > 0 || readers.length > 0) && (
        <>
          <header class="bar" style={{ padding: 0 }}><h2>The last</h2><Range /></header>
          <div class="charts">
            {writers.length > 0 && <Chart title="Written by queries" timesMs={times} format={rate} series={[{ label: "written", values: sumOf(writers, "writtenPerS") }]} />}
            {readers.slice(0, 1).map((query) => (
              <Chart key={query.id} title="Arriving in the topics of its first reader" timesMs={times} format={rate} series={[{ label: `for ${query.id}`, values: history.value!.queries[query.id]!.arrivingPerS }]} />
            ))}
          </div>
        </>
      )}
      <div class="card">
        <h2>Columns</h2>
        <table class="plain">
          <thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Part</th></tr></thead>
          <tbody>{found.fields.map((field) => <tr key={field.name}><td><code>{field.name}</code></td><td><code>{typeText(field.schema)}</code></td><td>{partOf(field, found.timestamp)}</td></tr>)}</tbody>
        </table>
      </div>
      <div class="card">
        <h2>Topic</h2>
        <p style={{ margin: 0 }}>
          <a href={formatRoute("topics", found.topic)}>{found.topic}</a>: {count(found.partitions)} {found.partitions === 1 ? "partition" : "partitions"}, {count(found.replication)} {found.replication === 1 ? "replica" : "replicas"}; keys {found.keyFormat}, values {found.valueFormat}
        </p>
      </div>
      <RawRecordsCard topic={found.topic} />
      <Schemas name={name} />
      <div class="card"><h2>Written by</h2><Queries queries={found.writeQueries} none="No query of this server; other programs, or INSERT." /></div>
      <div class="card"><h2>Read by</h2><Queries queries={found.readQueries} none="No query of this server." /></div>
      {found.sourceConstraints.length > 0 && <div class="card"><h2>Made from it</h2>{found.sourceConstraints.map((one) => <a key={one} href={formatRoute("source", one)}>{one} </a>)}</div>}
      <div class="card"><h2>Statement</h2><Code sql={found.statement} /></div>
      {(found.statistics || found.errorStats) && <div class="card"><h2>Statistics</h2><pre tabIndex={0}>{[found.statistics, found.errorStats].filter(Boolean).join("\n")}</pre></div>}
    </section>
  );
}

/** The rows as they come, or from a time or an offset on. */
function Sample({ name }: { name: string }) {
  const [since, setSince] = useState("");
  const [offset, setOffset] = useState("");
  const rows = `SELECT ROWTIME, ROWPARTITION, ROWOFFSET, * FROM ${nameInSql(name)}`;
  const choices = [
    { label: "Watch new ones", sql: `${rows} EMIT CHANGES;`, fromBeginning: false },
    { label: "The first 100", sql: `${rows}${wherePosition(since, offset)} EMIT CHANGES LIMIT 100;`, fromBeginning: true },
  ];
  return (
    <Records choices={choices}>
      <label>from <input type="datetime-local" step="1" aria-label="From this time" value={since} onInput={(event) => setSince(event.currentTarget.value)} /></label>
      <label>from offset <input type="number" min="0" class="narrow" value={offset} onInput={(event) => setOffset(event.currentTarget.value)} /></label>
    </Records>
  );
}

function Queries({ queries, none }: { queries: RunningQuery[]; none: string }) {
  if (queries.length === 0) return <p class="hint" style={{ margin: 0 }}>{none}</p>;
  return <ul style={{ margin: 0 }}>{queries.map((query) => <li key={query.id}><a href={formatRoute("query", query.id)}>{query.id}</a> <State state={query.state} /></li>)}</ul>;
}

function partOf(field: Field, timestamp: string): string {
  const part = { KEY: "key", HEADER: "header" }[field.type ?? ""] ?? "value";
  return field.name === timestamp ? `${part}, event time` : part;
}

/** A type as SQL writes it. */
export function typeText(schema: SchemaInfo): string {
  if (schema.type === "STRUCT") return `STRUCT<${(schema.fields ?? []).map((field) => `${field.name} ${typeText(field.schema)}`).join(", ")}>`;
  if (schema.type === "ARRAY") return `ARRAY<${schema.memberSchema ? typeText(schema.memberSchema) : "?"}>`;
  if (schema.type === "MAP") return `MAP<STRING, ${schema.memberSchema ? typeText(schema.memberSchema) : "?"}>`;
  if (schema.type === "DECIMAL" && schema.parameters) return `DECIMAL(${Object.values(schema.parameters).join(", ")})`;
  return schema.type;
}

/** The sums of series that follow one another in one list. */
function sum(length: number, values: (number | null)[], series: number): (number | null)[] {
  return Array.from({ length }, (_, at) => {
    const found = Array.from({ length: series }, (_, one) => values[one * length + at]).filter((value): value is number => value != null);
    return found.length > 0 ? found.reduce((all, value) => all + value, 0) : null;
  });
}
