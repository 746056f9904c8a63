// The server: its health, part by part, the servers beside it, and its properties.
import "../first.ts";
import { useState } from "preact/hooks";
import { ApiError, get, post, run } from "../api/client.ts";
import type { Health, HostStatus, PropertyDescription, ServerInfo } from "../api/types.ts";
import { count } from "../format/numbers.ts";
import { instant, timeZone } from "../format/times.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Grid } from "../parts/grid.tsx";
import { Offered } from "../parts/offered.tsx";
import { Problem } from "../parts/problem.tsx";
import { useAsked } from "../state/asked.ts";
import { graph } from "../state/graph.ts";
import { formatRoute } from "../state/route.ts";
import { pageOn } from "../state/servers.ts";

const PARTS: Record<string, string> = { metastore: "Streams and tables", kafka: "Kafka", commandRunner: "Command log", spark: "Spark", queries: "Queries", lakes: "Sinks and lakes", registry: "Schema registry", connect: "Kafka Connect" };

export function ServerPage() {
  const info = useAsked(() => get<{ KsqlServerInfo: ServerInfo }>("info"), "info", 10_000);
  const health = useAsked(() => get<Health>("healthcheck"), "health", 5_000);
  const hasServers = graph.value?.hasServers === true;
  const cluster = useAsked(async () => {
    if (!hasServers) return {};
    try {
      return (await get<{ clusterStatus: Record<string, HostStatus> }>("clusterStatus")).clusterStatus;
    } catch (error) {
      if (error instanceof ApiError && error.status === 403) return {};
      throw error;
    }
  }, `cluster ${hasServers}`, 30_000);
  const properties = useAsked(() => run("SHOW PROPERTIES;"), "properties");
  const services = useAsked(() => run("SHOW SERVICES;"), "services");
  const meanings = useAsked(() => get<{ properties: PropertyDescription[] }>("properties"), "meanings");
  const meaning = new Map(meanings.value?.properties.map((one) => [one.name, one.description]));
  const server = info.value?.KsqlServerInfo;
  const hosts = Object.entries(cluster.value ?? {});
  const rows = properties.value?.[0]?.properties?.map((one) => [one.name, one.value ?? null, one.level, one.editable, meaning.get(one.name) ?? ""]) ?? [];
  return (
    <section class="page">
      <header><h1>Server</h1>{health.value && <span class={`state ${health.value.isHealthy ? "good" : "bad"}`}>{health.value.isHealthy ? "healthy" : "not healthy"}</span>}</header>
      {server && (
        <div class="cards">
          <div class="figure long"><b>{server.version}</b><small>version</small></div>
          <div class="figure long"><b>{server.ksqlServiceId}</b><small>service id</small></div>
          <div class="figure long"><b>{server.kafkaClusterId}</b><small>Kafka cluster</small></div>
          <div class="figure long"><b>{timeZone()}</b><small>your time zone: all times here</small></div>
        </div>
      )}
      <div class="split">
      <div class="card">
        <h2>Health</h2>
        {health.error !== null && <Problem error={health.error} />}
        <table class="plain">
          <thead><tr><th scope="col">Part</th><th scope="col">State</th><th scope="col">What is wrong</th></tr></thead>
          <tbody>
            {Object.entries(health.value?.details ?? {}).map(([name, part]) => (
              <tr key={name}>
                <td>{PARTS[name] ?? name}</td>
                <td><span class={`state ${part.isHealthy ? "good" : "bad"}`}>{part.isHealthy ? "healthy" : "not healthy"}</span></td>
                <td>
                  {part.problem}
                  {Object.entries(part.reasons ?? {}).map(([id, reason]) => <div key={id}>{name === "queries" ? <a href={formatRoute("query", id)}>{id}</a> : id}: {reason}</div>)}
                  {(part.starting?.length ?? 0) > 0 && <div>{count(part.starting!.length)} still to be started</div>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="card">
        <h2>Addresses</h2>
        {services.error !== null && <Problem error={services.error} />}
        <table class="plain">
          <thead><tr><th scope="col">Service</th><th scope="col">Address</th><th scope="col">Started by</th></tr></thead>
          <tbody>
            {services.value?.[0]?.services?.map((one) => (
              <tr key={one.name}><td>{one.name}</td><td>{one.address === null ? <span class="hint">not needed yet</span> : <code>{one.address}</code>}</td><td>{one.startedHere ? "this server" : "others"}</td></tr>
            ))}
          </tbody>
        </table>
      </div>
      </div>
      {hosts.length > 0 && (
        <div class="card">
          <h2>Servers of this service id</h2>
          <table class="plain">
            <thead><tr><th scope="col">Address</th><th scope="col">State</th><th scope="col">Runs</th><th scope="col">Heard of</th></tr></thead>
            <tbody>
              {hosts.map(([host, status]) => (
                <tr key={host}>
                  <td>{host === location.host ? <>{host} <span class="hint">this console</span></> : status.hostAlive ? <a href={pageOn(host)}>{host}</a> : host}</td>
                  <td><span class={`state ${status.hostAlive ? "good" : "bad"}`}>{status.hostAlive ? (status.drained ? "drained" : "alive") : "gone"}</span></td>
                  <td>{runBy(host).length === 0 ? <span class="hint">no queries</span> : runBy(host).map((id) => <span key={id}><a href={formatRoute("query", id)}>{id}</a>{" "}</span>)}</td>
                  <td>{instant(status.lastStatusUpdateMs)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {hosts.length > 1 && <Offered least="admin" what="Draining it"><Drain onDone={cluster.again} /></Offered>}
        </div>
      )}
      <div class="card flat">
        <h2>Properties</h2>
        {properties.error !== null && <Problem error={properties.error} />}
        <Grid columns={["Name", "Value", "Level", "SET may change it", "What it is for"].map((name) => ({ name, type: "" }))} rows={rows} />
      </div>
    </section>
  );
}

/** The queries that a server runs; a server that shares none runs all. */
function runBy(host: string): string[] {
  const queries = graph.value?.nodes.filter((node) => node.kind === "QUERY") ?? [];
  return queries.filter((node) => node.host === undefined || node.host === host).map((node) => node.name);
}

/** Hands the queries of the server that this console comes from over to the others, or takes queries again. */
function Drain({ onDone }: { onDone: () => void }) {
  const [asked, ask] = useState<boolean | null>(null);
  const [said, say] = useState("");
  const [problem, setProblem] = useState<unknown>(null);
  const drain = async (drained: boolean) => {
    try {
      const status = await post<{ host: string; message: string }>("cluster/drain", { drained });
      say(`${status.host}: ${status.message}`);
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
    onDone();
  };
  return (
    <>
      <div class="bar">
        <button onClick={() => ask(true)}>Drain this server</button>
        <button onClick={() => void drain(false)}>Take queries again</button>
        <span role="status" class="hint">{said}</span>
      </div>
      {problem !== null && <Problem error={problem} />}
      {asked !== null && (
        <Confirm title="Drain this server?" action="Drain" onAnswer={(isYes) => (ask(null), isYes && void drain(true))}>
          <p>The server that this console comes from hands its queries over to the others, and takes none until you let it. It answers requests as before.</p>
        </Confirm>
      )}
    </>
  );
}
