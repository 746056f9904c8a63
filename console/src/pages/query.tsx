// A query: how it does, its plan, and what can be done with it.
import "../first.ts";
import { useState } from "preact/hooks";
import { get, run, serverGone } from "../api/client.ts";
import type { Graph, GraphNode, OffsetSummary, QueryDetails, QueryFigures } from "../api/types.ts";
import { bytes, count, rate, short, span } from "../format/numbers.ts";
import { instant } from "../format/times.ts";
import { after } from "../graph/after.ts";
import { Chart } from "../parts/chart.tsx";
import { Code } from "../parts/code.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Failures } from "../parts/failures.tsx";
import { NotFound } from "../parts/not-found.tsx";
import { Offered } from "../parts/offered.tsx";
import { Checkpoints, Transitions } from "../parts/past.tsx";
import { Plan, useRates } from "../parts/plan.tsx";
import { Problem } from "../parts/problem.tsx";
import { Progress } from "../parts/progress.tsx";
import { Range, rangeMinutes } from "../parts/range.tsx";
import { State } from "../parts/state.tsx";
import { Times } from "../parts/times.tsx";
import { useAsked } from "../state/asked.ts";
import { failedOf, graph, refreshGraph, samples } from "../state/graph.ts";
import { pageOn } from "../state/servers.ts";
import { nameInSql } from "../sql/statements.ts";
import { formatRoute, open, route } from "../state/route.ts";

const TABS = [["overview", "Overview"], ["plan", "Plan"], ["errors", "Errors"], ["checkpoints", "Checkpoints"]] as const;

/** How far back failed records go, minutes: they are few. */
const FAILED_MINUTES = "720";

type Action = "PAUSE" | "RESUME" | "TERMINATE";

export function QueryPage() {
  const id = route.value.name;
  const tab = TABS.find(([name]) => name === route.value.options.tab)?.[0] ?? "overview";
  const node = graph.value?.nodes.find((one) => one.id === `query:${id}`);
  const explained = useAsked(() => run(`EXPLAIN ${id};`), `${id} ${node?.state}`, 15_000);
  const asked = useAsked(() => get<QueryDetails>(`queries/${encodeURIComponent(id)}`), `${id} ${node?.state}`, 5_000);
  const sink = explained.value?.[0]?.queryDescription?.sinks[0];
  const rates = useRates(asked.value);
  const described = useAsked(async () => (sink === undefined ? [] : run(`DESCRIBE ${nameInSql(sink)} EXTENDED;`)), sink ?? "", 10_000);
  const [action, choose] = useState<Action | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const now = graph.value;
  if (now === null) return null;
  if (node === undefined) {
    return <NotFound title={id}>There is no query <code>{id}</code> that you may see.</NotFound>;
  }
  const isGone = serverGone.value !== null;
  const culprit = now.culprits.find((one) => one.queryId === id);
  const description = explained.value?.[0]?.queryDescription;
  const details = asked.value;
  const outgrown = details?.subTopologies.flatMap(({ state }) => state?.outgrown ?? []) ?? [];
  const { figures } = node;
  const failed = failedOf(figures);
  const times = samples.value.map(({ timeMs }) => timeMs);
  const past = (pick: (of: QueryFigures) => number | null) => samples.value.map(({ queries }) => {
    const of = queries.get(id);
    return of === undefined ? null : pick(of);
  });
  const done = async (isYes: boolean) => {
    choose(null);
    if (!isYes || action === null) return;
    try {
      await run(`${action} ${id};`);
      setProblem(null);
      await refreshGraph();
      if (action === "TERMINATE") open("flow");
    } catch (error) {
      setProblem(error);
    }
  };
  return (
    <section class="page">
      <header>
        <h1>{id}</h1>
        <State state={node.state} />
        {node.host && <span class="hint">on {node.host}</span>}
        <span class="space" />
        <a href={formatRoute("flow", "", { focus: node.id })}>In the flow</a>
        <Offered least="developer" of={node.id} what="Pausing or ending it">
          {node.state === "PAUSED" ? <button disabled={isGone} onClick={() => choose("RESUME")}>Resume</button> : <button disabled={isGone} onClick={() => choose("PAUSE")}>Pause</button>}
          <button class="danger" disabled={isGone} onClick={() => choose("TERMINATE")}>Terminate</button>
        </Offered>
      </header>
      <Ends now={now} node={node} />
      {node.newVersionOf !== undefined && (
        <p class="banner idle" role="status">
          A new version of <a href={formatRoute("source", node.newVersionOf)}>{node.newVersionOf}</a>, which keeps its rows until this one takes over. <Progress node={node} />{" "}
          <a href={formatRoute("editor", "", { sql: `DESCRIBE EVOLUTION ${nameInSql(node.newVersionOf)};` })}>What it changes</a>
        </p>
      )}
      {culprit && <p class="banner warn" role="status">What comes after it waits for this query. {culprit.reason}</p>}
      {explained.value?.[0]?.warnings.map(({ message }) => <p class="banner warn" role="status" key={message}>{message}</p>)}
      {node.host && details && isElsewhere(details) && (
        <p class="banner idle">Another server runs it: the rates of its steps, its checkpoints and what happened to it are on the console of <a href={pageOn(node.host)}>{node.host}</a>.</p>
      )}
      {problem !== null && <Problem error={problem} />}
      {node.error && <Problem error={node.error} />}
      <Code sql={node.statement ?? ""} />
      <nav class="views" aria-label="Parts of the page">
        {TABS.map(([name, label]) => (
          <a key={name} class="chip" href={formatRoute("query", id, { ...route.value.options, tab: name === TABS[0][0] ? undefined : name })} aria-current={tab === name ? "page" : undefined}>
            {label}{name === "errors" && failed > 0 && ` (${count(failed)})`}
          </a>
        ))}
      </nav>
      {asked.error !== null && <Problem error={asked.error} />}
      {explained.error !== null && <Problem error={explained.error} />}
      {tab === "overview" && (
        <>
          <div class="cards">
            <Figure label="read" value={rate(figures?.readPerS)} />
            <Figure label="written" value={rate(figures?.writtenPerS)} />
            <Figure label="lag: records not read yet" value={count(figures?.lagRecords)} />
            <Figure label="waiting: the oldest of them" value={span(figures?.lagSeconds)} isBad={node.newVersionOf === undefined && (figures?.lagSeconds ?? 0) > 60} />
            <Figure label="p95 latency" value={span(figures?.latencySeconds)} />
            <Figure isBad={outgrown.length > 0} label={figures?.stateRows == null ? "state" : `state, ${count(figures.stateRows)} rows`} value={figures?.stateRows == null ? "none" : bytes(figures.stateBytes)} />
            <Figure label="errors: records that failed" value={count(failed)} isBad={failed > 0} />
            <Figure label="restarts after failures" value={count(figures?.failures ?? 0)} isBad={(figures?.failures ?? 0) > 0} />
          </div>
          {outgrown.map((words) => <p key={words} class="hint">{words}. More memory for it: <code>spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB</code>.</p>)}
          <h2>Since you opened the console</h2>
          {times.length < 2 ? <p class="hint">Figures come every five seconds.</p> : (
            <div class="charts">
              <Chart title="Records per second" timesMs={times} format={rate} series={[
                { label: "arrive", values: past((of) => of.arrivingPerS) }, { label: "read", values: past((of) => of.readPerS) }, { label: "written", values: past((of) => of.writtenPerS) },
              ]} />
              <Chart title="p95 latency" timesMs={times} format={span} series={[{ label: "of the latest results", values: past((of) => of.latencySeconds) }]} />
              <Chart title="Lag" timesMs={times} format={short} series={[{ label: "records not read yet", values: past((of) => of.lagRecords) }]} />
              <Chart title="Waiting" timesMs={times} format={span} series={[{ label: "the oldest record not read yet", values: past((of) => of.lagSeconds) }]} />
              {figures?.stateBytes != null && <Chart title="State" timesMs={times} format={bytes} series={[{ label: "size", values: past((of) => of.stateBytes) }]} />}
            </div>
          )}
          {details && (
            <div class="charts">
              {Object.entries(details.latencies).map(([topic, times]) => <Times key={topic} title={`Latency to ${topic}`} times={times} />)}
            </div>
          )}
          <Partitions summary={described.value?.[0]?.sourceDescription?.queryOffsetSummaries.find((one) => one.groupId === id)} reached={details?.reached ?? {}} />
        </>
      )}
      {tab === "plan" && (
        <>
          {details && <Plan details={details} rates={rates} />}
          {description && (
            <details class="card">
              <summary>The plan as text</summary>
              <pre tabIndex={0}>{description.executionPlan}</pre>
              <pre tabIndex={0}>{description.topology}</pre>
            </details>
          )}
        </>
      )}
      {tab === "errors" && (
        <>
          <Errors id={id} errors={figures?.errors ?? {}} failures={description?.queryErrors ?? []} />
          {details?.graces && (
            <Times title="Late records, by the GRACE PERIOD that would have kept them" times={details.graces}>
              <a href={formatRoute("editor", "", { sql: `SELECT * FROM LATE ROWS OF ${id};` })}>Select them</a>
            </Times>
          )}
          {details && <Transitions details={details} />}
        </>
      )}
      {tab === "checkpoints" && details && (
        <>
          {details.pauses && <Times title="Pauses for checkpoints" times={details.pauses} />}
          <Checkpoints details={details} />
        </>
      )}
      {action !== null && <Effect id={id} action={action} onAnswer={done} />}
    </section>
  );
}

/** What it reads, and where its results are. */
function Ends({ now, node }: { now: Graph; node: GraphNode }) {
  const names = new Map(now.nodes.map((one) => [one.id, one]));
  const sources = now.edges.filter((edge) => edge.target === node.id).flatMap((edge) => names.get(edge.source) ?? []);
  const written = now.edges.filter((edge) => edge.source === node.id).map((edge) => edge.target);
  const sinks = now.nodes.filter((one) => written.includes(one.id) ? one.kind !== "TOPIC" : written.includes(`topic:${one.topic}`));
  const links = (found: GraphNode[]) => found.map((one, at) => <span key={one.id}>{at > 0 && ", "}<a href={formatRoute("source", one.name)}>{one.name}</a></span>);
  if (sources.length === 0 && sinks.length === 0) return null;
  return <p>{sources.length > 0 && <>Reads {links(sources)}. </>}{sinks.length > 0 && <>Its results are in {links(sinks)}.</>}</p>;
}

/** Whether this server knows only its plan and its figures. */
function isElsewhere({ subTopologies }: QueryDetails): boolean {
  return subTopologies.every((stage) => stage.checkpoints.length === 0 && stage.steps.every((step) => step.volume === undefined));
}

function Figure({ label, value, isBad = false }: { label: string; value: string; isBad?: boolean }) {
  return <div class={isBad ? "figure bad" : "figure"}><b>{value}</b><small>{label}</small></div>;
}

function Errors({ id, errors, failures }: { id: string; errors: Record<string, number>; failures: { timestamp: number; errorMessage: string; type: string }[] }) {
  const counted = Object.entries(errors).filter(([kind, number]) => number > 0 && kind !== "late");
  const late = errors.late ?? 0;
  return (
    <>
      {failures.length > 0 && (
        <div class="card">
          <h2>Failures of the query</h2>
          <table class="plain">
            <thead><tr><th scope="col">When</th><th scope="col">Whose</th><th scope="col">Why the query failed</th></tr></thead>
            <tbody>{failures.map((one) => <tr key={one.timestamp}><td>{instant(one.timestamp)}</td><td>{one.type.toLowerCase()}</td><td><pre>{one.errorMessage}</pre></td></tr>)}</tbody>
          </table>
        </div>
      )}
      <div class="card flat">
        <div class="bar">
          <h2>Failed records</h2>
          <Range otherwise={FAILED_MINUTES} />
          <span>{counted.length === 0 ? "None since the server started." : `Since the server started: ${counted.map(([kind, number]) => `${count(number)} ${kind}`).join(", ")}.`}</span>
          {late > 0 && <span class="hint">{count(late)} {late === 1 ? "record" : "records"} came too late to be used, which is no error.</span>}
        </div>
        <Failures queryIds={[id]} minutes={rangeMinutes(FAILED_MINUTES)} counted={counted.reduce((sum, [, number]) => sum + number, 0)} />
      </div>
    </>
  );
}

/** How far each partition has been read: as of the last checkpoint, or of now where that is known. */
function Partitions({ summary, reached }: { summary: OffsetSummary | undefined; reached: QueryDetails["reached"] }) {
  if (summary === undefined) return null;
  const readUpTo = (topic: string, { partition, consumerOffset }: { partition: number; consumerOffset: number }) => Math.max(consumerOffset, reached[topic]?.[partition] ?? 0);
  return (
    <div class="card">
      <h2>Partitions</h2>
      <table class="plain">
        <thead><tr><th scope="col">Topic</th>{["Partition", "First offset", "At the last checkpoint", "Read up to", "End", "Left"].map((name) => <th key={name} scope="col" class="number">{name}</th>)}<td /></tr></thead>
        <tbody>
          {summary.topicSummaries.flatMap((topic) => topic.offsets.map((one) => (
            <tr key={`${topic.kafkaTopic} ${one.partition}`}>
              <td><a href={formatRoute("topics", topic.kafkaTopic)}>{topic.kafkaTopic}</a></td>
              {[one.partition, one.logStartOffset, one.consumerOffset, readUpTo(topic.kafkaTopic, one), one.logEndOffset, Math.max(0, one.logEndOffset - readUpTo(topic.kafkaTopic, one))].map((value, at) => <td key={at} class="number">{count(value)}</td>)}<td />
            </tr>
          )))}
        </tbody>
      </table>
    </div>
  );
}

const EFFECTS: Record<Action, string> = {
  PAUSE: "It reads no more records until it is resumed, and goes on where it stopped. Until then these get nothing new from it:",
  RESUME: "It goes on where it was paused. These get records from it again:",
  TERMINATE: "It ends for good, and its state is removed. Its stream or table stays, with what is in it. These get nothing new from it any more:",
};

function Effect({ id, action, onAnswer }: { id: string; action: Action; onAnswer: (isYes: boolean) => void }) {
  const affected = after(graph.value!, `query:${id}`);
  const word = action[0] + action.slice(1).toLowerCase();
  return (
    <Confirm title={`${word} ${id}?`} action={word} onAnswer={onAnswer}>
      <p>{EFFECTS[action]}</p>
      <ul>{affected.map((node) => <li key={node.id}>{node.kind.toLowerCase()} <b>{node.name}</b></li>)}{affected.length === 0 && <li>nothing else</li>}</ul>
    </Confirm>
  );
}
