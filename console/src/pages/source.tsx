// A stream, table or view: what is in it, who writes and reads it, and how much.
import "../first.ts";
import { useState } from "preact/hooks";
import { ApiError, run } from "../api/client.ts";
import type { Field, RunningQuery, SourceDescription } from "../api/types.ts";
import { count } from "../format/numbers.ts";
import { Code } from "../parts/code.tsx";
import { FreshnessCard } from "../parts/freshness.tsx";
import { linksTo } from "../parts/lists.tsx";
import { NotFound } from "../parts/not-found.tsx";
import { Problem } from "../parts/problem.tsx";
import { RawRecordsCard } from "../parts/raw-records.tsx";
import { Records } from "../parts/records.tsx";
import { Schemas } from "../parts/schemas.tsx";
import { State } from "../parts/state.tsx";
import { TopicCharts } from "../parts/topic-charts.tsx";
import { whereNew, wherePosition } from "../sql/position.ts";
import { isSource, nameInSql, typeText } from "../sql/statements.ts";
import { useAsked } from "../state/asked.ts";
import { graph } from "../state/graph.ts";
import { formatRoute, route } from "../state/route.ts";

/** How many of its newest rows a page begins with. */
const NEWEST = 10;

export function SourcePage() {
  const { name } = route.value;
  const described = useAsked(() => run(`DESCRIBE ${nameInSql(name)} EXTENDED;`), name, 10_000);
  const found = described.value?.[0]?.sourceDescription;
  if (found === undefined) {
    const { error } = described;
    if (error instanceof ApiError && error.status < 500 && graph.value?.nodes.some((node) => isSource(node.kind) && node.name === name) === false) {
      const near = /Did you mean (.+)\?/.exec(error.message)?.[1];
      return (
        <NotFound title={name}>
          There is no stream, table or view <code>{name}</code> that you may see.
          {near !== undefined && <> Did you mean <a href={formatRoute("source", near)}>{near}</a>?</>}
        </NotFound>
      );
    }
    return (
      <section class="page">
        <header><h1>{name}</h1></header>
        {error !== null ? <Problem error={error} /> : <p class="hint" role="status">Asking the server …</p>}
      </section>
    );
  }
  if (found.type === "VIEW") return <View name={name} found={found} />;
  return (
    <section class="page">
      <header>
        <h1>{name}</h1>
        <span class="state idle">{found.type.toLowerCase()}{found.windowType ? `, ${found.windowType.toLowerCase()} windows` : ""}</span>
        <span class="space" />
        <a href={formatRoute("flow", "", { focus: `${found.type.toLowerCase()}:${name}` })}>In the flow</a>
        <a href={formatRoute("editor", "", { sql: `SELECT * FROM ${nameInSql(name)} EMIT CHANGES;` })}>Query it</a>
      </header>
      {described.value?.[0]?.warnings.map(({ message }) => <p class="banner warn" role="status" key={message}>{message}</p>)}
      <Sample name={name} topic={found.topic} />
      <FreshnessCard name={name} />
      <TopicCharts topic={found.topic} />
      <div class="split">
        <div>
          <Columns of={found} />
        </div>
        <div>
          <div class="card"><h2>Written by</h2><Queries queries={found.writeQueries} none="No query; other programs, or INSERT." /></div>
          <div class="card"><h2>Read by</h2><Queries queries={found.readQueries} none="No query." /></div>
          {found.sourceConstraints.length > 0 && <div class="card"><h2>Made from it</h2><p>{linksTo("source")(found.sourceConstraints.join(", "))}</p></div>}
          <div class="card">
            <h2>Topic</h2>
            <p>
              <a href={formatRoute("topics", found.topic)}>{found.topic}</a>: {count(found.partitions)} {found.partitions === 1 ? "partition" : "partitions"}, {count(found.replication)} {found.replication === 1 ? "replica" : "replicas"}; keys {found.keyFormat}, values {found.valueFormat}
            </p>
          </div>
          <Schemas name={name} />
        </div>
      </div>
      <RawRecordsCard topic={found.topic} />
      <div class="card"><h2>Statement</h2><Code sql={found.statement} /></div>
      {(found.statistics || found.errorStats) && <div class="card"><h2>Statistics</h2><pre tabIndex={0}>{[found.statistics, found.errorStats].filter(Boolean).join("\n")}</pre></div>}
    </section>
  );
}

/** A view is only a name for a SELECT: it has no topic, no records and no query. */
function View({ name, found }: { name: string; found: SourceDescription }) {
  const explained = useAsked(() => run(`EXPLAIN SELECT * FROM ${nameInSql(name)} EMIT CHANGES;`), found.statement);
  const sources = explained.value?.[0]?.queryDescription?.sources ?? [];
  return (
    <section class="page">
      <header>
        <h1>{name}</h1>
        <span class="state idle">view</span>
        <span class="space" />
        <a href={formatRoute("editor", "", { sql: `SELECT * FROM ${nameInSql(name)} EMIT CHANGES;` })}>Query it</a>
      </header>
      {sources.length > 0 && <p>Reads {linksTo("source")(sources.join(", "))}.</p>}
      <div class="card"><h2>Statement</h2><Code sql={found.statement} /></div>
      <Columns of={found} />
    </section>
  );
}

function Columns({ of }: { of: SourceDescription }) {
  return (
    <div class="card">
      <h2>Columns</h2>
      <table class="plain">
        <thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Part</th></tr></thead>
        <tbody>{of.fields.map((field) => <tr key={field.name}><td><code>{field.name}</code></td><td><code>{typeText(field.schema)}</code></td><td>{partOf(field, of.timestamp)}</td></tr>)}</tbody>
      </table>
    </div>
  );
}

/** The rows as they come, or from a time or an offset on. */
function Sample({ name, topic }: { name: string; topic: string }) {
  const [since, setSince] = useState("");
  const [offset, setOffset] = useState("");
  const rows = `SELECT ROWTIME, ROWPARTITION, ROWOFFSET, * FROM ${nameInSql(name)}`;
  const figures = graph.value?.nodes.find((node) => node.topic === topic && node.name === name)?.topicFigures;
  const choices = [
    { label: `The newest ${NEWEST}`, sql: `SELECT ROWTIME, * FROM ${nameInSql(name)}${whereNew(NEWEST, figures, Date.now())} ORDER BY ROWTIME DESC LIMIT ${NEWEST};`, fromBeginning: true },
    { label: "Watch new ones", sql: `${rows} EMIT CHANGES;`, fromBeginning: false },
    { label: "The first 100", sql: `${rows}${wherePosition(since, offset)} EMIT CHANGES LIMIT 100;`, fromBeginning: true },
  ];
  return (
    <Records choices={choices} isOpen>
      <label>from <input type="datetime-local" step="1" aria-label="From this time" value={since} onInput={(event) => setSince(event.currentTarget.value)} /></label>
      <label>from offset <input type="number" min="0" class="narrow" value={offset} onInput={(event) => setOffset(event.currentTarget.value)} /></label>
    </Records>
  );
}

function Queries({ queries, none }: { queries: RunningQuery[]; none: string }) {
  if (queries.length === 0) return <p class="hint">{none}</p>;
  return (
    <table class="plain">
      <tbody>{queries.map((query) => <tr key={query.id}><td><a href={formatRoute("query", query.id)}>{query.id}</a></td><td><State state={query.state} /></td></tr>)}</tbody>
    </table>
  );
}

function partOf(field: Field, timestamp: string): string {
  const part = { KEY: "key", HEADER: "header" }[field.type ?? ""] ?? "value";
  return field.name === timestamp ? `${part}, event time` : part;
}
