// The topics of Kafka: which streams and tables are over them, who reads them, and what is in them.
import "../first.ts";
import { run } from "../api/client.ts";
import { count, span } from "../format/numbers.ts";
import { Grid } from "../parts/grid.tsx";
import { linksTo, list } from "../parts/lists.tsx";
import { NotFound } from "../parts/not-found.tsx";
import { Offered } from "../parts/offered.tsx";
import { Problem } from "../parts/problem.tsx";
import { RawRecordsCard } from "../parts/raw-records.tsx";
import { Records } from "../parts/records.tsx";
import { TopicCharts } from "../parts/topic-charts.tsx";
import { textInSql } from "../sql/statements.ts";
import { useAsked } from "../state/asked.ts";
import { graph, isLog } from "../state/graph.ts";
import { formatRoute, route, setOptions } from "../state/route.ts";

const COLUMNS = [["Topic"], ["Records"], ["Kept"], ["Partitions"], ["Consumers"], ["Streams and tables"], ["Read by"], ["Connectors"]] as const;
const FORMATS = {
  Records: (cell: unknown) => count(cell as number | null), "Streams and tables": linksTo("source"), "Read by": linksTo("query"), Connectors: linksTo("connectors"),
};

export function TopicsPage() {
  const { name } = route.value;
  return name === "" ? <TopicList /> : <Topic name={name} />;
}

function TopicList() {
  const hasInternal = route.value.options.internal !== undefined;
  const listed = useAsked(() => run(`SHOW ${hasInternal ? "ALL " : ""}TOPICS EXTENDED;`), `topics ${hasInternal}`, 20_000);
  const topics = listed.value?.[0]?.topics;
  const rows = topics?.filter((topic) => hasInternal || !isLog(topic.name)).map((topic) => [
    topic.name, topic.recordCount ?? null, kept(topic.retentionMs, topic.isCompacted), topic.replicaInfo.length,
    topic.consumerCount ?? null, sourcesOver(topic.name).map((one) => one.name).join(", "), readersOf(topic.name).join(", "), topic.connectors?.join(", ") ?? "",
  ]);
  return (
    <section class="page">
      <header>
        <h1>Topics</h1>
        <label class="check"><input type="checkbox" checked={hasInternal} onChange={(event) => setOptions({ internal: event.currentTarget.checked ? "1" : undefined })} /> Internal topics, too</label>
      </header>
      {listed.error !== null && <Problem error={listed.error} />}
      {rows === undefined ? listed.error === null && <p class="hint" role="status">Asking Kafka …</p> : (
        <div class="card flat">
          <Grid {...list(COLUMNS, rows)} formats={FORMATS} linkOf={(row) => formatRoute("topics", String(row[0]))} />
        </div>
      )}
    </section>
  );
}

function Topic({ name }: { name: string }) {
  const sources = sourcesOver(name);
  const listed = useAsked(() => run("SHOW ALL TOPICS EXTENDED;"), "topics", 20_000);
  const topics = listed.value?.[0]?.topics;
  const found = topics?.find((one) => one.name === name);
  if (topics !== undefined && found === undefined) return <NotFound title={name}>There is no topic <code>{name}</code> that you may see.</NotFound>;
  const readers = readersOf(name);
  const print = `PRINT ${textInSql(name)}`;
  const declared = `CREATE STREAM name (\n  -- columns\n) WITH (KAFKA_TOPIC = ${textInSql(name)}, VALUE_FORMAT = 'JSON');`;
  return (
    <section class="page">
      <header>
        <h1>{name}</h1>
        <span class="state idle">topic</span>
        <span class="space" />
        <a href={formatRoute("topics")}>All topics</a>
        <a href={formatRoute("flow", "", { focus: `topic:${name}`, topics: "all" })}>In the flow</a>
        <a href={formatRoute("editor", "", { sql: declared })}>Declare a stream over it</a>
      </header>
      {found && (
        <div class="cards">
          <div class="figure"><b>{count(found.recordCount)}</b><small>records</small></div>
          <div class="figure"><b>{kept(found.retentionMs, found.isCompacted)}</b><small>kept</small></div>
          <div class="figure"><b>{count(found.replicaInfo.length)}</b><small>{found.replicaInfo.length === 1 ? "partition" : "partitions"}, replicas: {Math.max(0, ...found.replicaInfo)}</small></div>
          <div class="figure"><b>{count(found.consumerCount)}</b><small>consumers, in groups: {count(found.consumerGroupCount)}</small></div>
        </div>
      )}
      <Offered least="developer" of={`topic:${name}`} what="Reading the records of a topic">
        <Records
          choices={[
            { label: "Watch new ones", sql: `${print};`, fromBeginning: false },
            { label: "The first 100", sql: `${print} FROM BEGINNING LIMIT 100;`, fromBeginning: true },
          ]}
        />
        <RawRecordsCard topic={name} />
      </Offered>
      <TopicCharts topic={name} />
      <div class="charts">
      <div class="card">
        <h2>Streams and tables over it</h2>
        {sources.length === 0 && <p class="hint">None.</p>}
        <ul>
          {sources.map((one) => <li key={one.id}><a href={formatRoute("source", one.name)}>{one.name}</a> {one.kind.toLowerCase()}, keys {one.formats?.[0]}, values {one.formats?.[1]}</li>)}
        </ul>
      </div>
      <div class="card"><h2>Read by</h2><p>{readers.length === 0 ? <span class="hint">No query.</span> : linksTo("query")(readers.join(", "))}</p></div>
      </div>
    </section>
  );
}

/** How long a topic keeps records, as the shell says it. */
function kept(ms: number | undefined, isCompacted: boolean | undefined): string {
  if (ms === undefined) return "";
  const time = ms >= 0 ? span(ms / 1000) : isCompacted ? "" : "no limit";
  return [isCompacted ? "latest of each key" : "", time].filter(Boolean).join(", ");
}

/** The queries that read a topic. */
function readersOf(topic: string): string[] {
  const over = sourcesOver(topic).map((one) => one.id);
  return (graph.value?.edges ?? []).filter((edge) => over.includes(edge.source) && edge.target.startsWith("query:")).map((edge) => edge.target.slice("query:".length));
}

function sourcesOver(topic: string) {
  return graph.value?.nodes.filter((node) => (node.kind === "STREAM" || node.kind === "TABLE") && node.topic === topic) ?? [];
}
