// The topics of Kafka: which streams and tables are over them, who reads them, and what is in them.
import "../first.ts";
import { run } from "../api/client.ts";
import { Grid } from "../parts/grid.tsx";
import { Offered } from "../parts/offered.tsx";
import { Problem } from "../parts/problem.tsx";
import { RawRecordsCard } from "../parts/raw-records.tsx";
import { Records } from "../parts/records.tsx";
import { TopicCharts } from "../parts/topic-charts.tsx";
import { textInSql } from "../sql/statements.ts";
import { useAsked } from "../state/asked.ts";
import { graph } from "../state/graph.ts";
import { formatRoute, route } from "../state/route.ts";

const COLUMNS = ["Topic", "Partitions", "Replicas", "Streams and tables", "Connectors", "Consumers", "Consumer groups"];

export function TopicsPage() {
  const { name } = route.value;
  return name === "" ? <TopicList /> : <Topic name={name} />;
}

function TopicList() {
  const listed = useAsked(() => run("SHOW ALL TOPICS EXTENDED;"), "topics", 20_000);
  const topics = listed.value?.[0]?.topics;
  const rows = topics?.map((topic) => [
    topic.name, topic.replicaInfo.length, Math.max(0, ...topic.replicaInfo), sourcesOver(topic.name).map((one) => one.name).join(", "),
    topic.connectors?.join(", ") ?? "", topic.consumerCount ?? null, topic.consumerGroupCount ?? null,
  ]);
  return (
    <section class="page">
      <header><h1>Topics</h1></header>
      {listed.error !== null && <Problem error={listed.error} />}
      {rows === undefined ? listed.error === null && <p class="hint" role="status">Asking Kafka …</p> : (
        <div class="card flat">
          <Grid columns={COLUMNS.map((name) => ({ name, type: "" }))} rows={rows} linkOf={(row) => formatRoute("topics", String(row[0]))} />
        </div>
      )}
    </section>
  );
}

function Topic({ name }: { name: string }) {
  const sources = sourcesOver(name);
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
      <div class="card">
        <h2>Streams and tables over it</h2>
        {sources.length === 0 && <p class="hint" style={{ margin: 0 }}>None.</p>}
        <ul style={{ margin: 0 }}>
          {sources.map((one) => <li key={one.id}><a href={formatRoute("source", one.name)}>{one.name}</a> {one.kind.toLowerCase()}, keys {one.formats?.[0]}, values {one.formats?.[1]}</li>)}
        </ul>
      </div>
    </section>
  );
}

function sourcesOver(topic: string) {
  return graph.value?.nodes.filter((node) => (node.kind === "STREAM" || node.kind === "TABLE") && node.topic === topic) ?? [];
}
