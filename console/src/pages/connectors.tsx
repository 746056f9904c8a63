// The connectors of Kafka Connect: how each does, and a form for new ones.
import "../first.ts";
import { useEffect, useState } from "preact/hooks";
import { get, post, run } from "../api/client.ts";
import type { ConnectorDescription, ConnectorSetting, Entity } from "../api/types.ts";
import { Code } from "../parts/code.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Offered } from "../parts/offered.tsx";
import { Problem } from "../parts/problem.tsx";
import { State, looksOf } from "../parts/state.tsx";
import { createConnector } from "../sql/connector.ts";
import { nameInSql } from "../sql/statements.ts";
import { useAsked } from "../state/asked.ts";
import { formatRoute, open, route } from "../state/route.ts";

export function ConnectorsPage() {
  const { name, options } = route.value;
  if (options.create !== undefined) return <NewConnector />;
  return name === "" ? <ConnectorList /> : <Connector name={name} />;
}

function ConnectorList() {
  const listed = useAsked(() => run("SHOW CONNECTORS;"), "connectors", 5_000);
  const connectors = listed.value?.[0]?.connectors;
  return (
    <section class="page">
      <header>
        <h1>Connectors</h1>
        <span class="space" />
        <Offered least="admin" what="A new connector">
          <a href={formatRoute("connectors", "", { create: "1" })}>New connector</a>
        </Offered>
      </header>
      {listed.error !== null && <Problem error={listed.error} />}
      {listed.value?.[0]?.warnings.map((warning) => <p class="banner warn" key={warning.message}>{warning.message}</p>)}
      {connectors?.length === 0 && <p class="hint">There are none. A connector copies records between Kafka and another system, for example a database.</p>}
      {connectors === undefined && listed.error === null && <Asking />}
      {(connectors?.length ?? 0) > 0 && (
        <div class="card">
          <table class="plain">
            <thead><tr><th scope="col">Name</th><th scope="col">Kind</th><th scope="col">Class</th><th scope="col">State</th></tr></thead>
            <tbody>
              {connectors!.map((one) => (
                <tr key={one.name}>
                  <td><a href={formatRoute("connectors", one.name)}>{one.name}</a></td>
                  <td>{one.type.toLowerCase()}</td>
                  <td><code>{one.className}</code></td>
                  <td><span class={`state ${looksOf(one.state.split(" ")[0])}`}>{one.state.toLowerCase()}</span></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Connector({ name }: { name: string }) {
  const described = useAsked(() => run(`DESCRIBE CONNECTOR ${nameInSql(name)};`), name, 5_000);
  const [isDropping, setDropping] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const found = described.value?.[0] as (Omit<Entity, "topics"> & ConnectorDescription) | undefined;
  const { connector, tasks = [] } = found?.status ?? {};
  const act = async (what: () => Promise<unknown>) => {
    try {
      await what();
      setProblem(null);
      described.again();
    } catch (error) {
      setProblem(error);
    }
  };
  return (
    <section class="page">
      <header>
        <h1>{name}</h1>
        {connector && <State state={connector.state} />}
        <span class="space" />
        <a href={formatRoute("connectors")}>All connectors</a>
        <Offered least="admin" what="Restarting or dropping it">
          <button onClick={() => act(() => post(`connectors/${encodeURIComponent(name)}/restart`, {}))}>
            Restart what has failed
          </button>
          <button class="danger" onClick={() => setDropping(true)}>Drop</button>
        </Offered>
      </header>
      {problem !== null && <Problem error={problem} />}
      {described.error !== null && <Problem error={described.error} />}
      {found && (
        <>
          <div class="card"><h2>Class</h2><code>{found.connectorClass}</code></div>
          {connector?.trace && <Problem error={connector.trace} />}
          <div class="card">
            <h2>Tasks</h2>
            {tasks.length === 0 && <p class="hint">None yet.</p>}
            {tasks.map((task) => (
              <div key={task.id}>
                <p>Task {task.id} <State state={task.state} /> <span class="hint">on {task.worker_id}</span></p>
                {task.trace && <pre tabIndex={0}>{task.trace}</pre>}
              </div>
            ))}
          </div>
          <div class="card">
            <h2>Topics</h2>
            {found.topics.length === 0 && <p class="hint">None yet.</p>}
            <ul>{found.topics.map((topic) => <li key={topic}><a href={formatRoute("topics", topic)}>{topic}</a></li>)}</ul>
          </div>
          {found.sources.length > 0 && (
            <div class="card">
              <h2>Streams and tables over them</h2>
              <ul>{found.sources.map((one) => <li key={one.name}><a href={formatRoute("source", one.name)}>{one.name}</a> {one.type.toLowerCase()}</li>)}</ul>
            </div>
          )}
        </>
      )}
      {isDropping && (
        <Confirm
          title={`Drop ${name}?`}
          action="Drop"
          onAnswer={(isYes) => {
            setDropping(false);
            if (isYes) void act(async () => (await run(`DROP CONNECTOR ${nameInSql(name)};`), open("connectors")));
          }}
        >
          <p>It copies no more records. Its topics stay.</p>
        </Confirm>
      )}
    </section>
  );
}

/** What the page waits for. */
function Asking() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((before) => before + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <p class="banner idle">
      <span role="status">Waiting for Kafka Connect. Where nothing has needed it so far, the server starts it now, which takes some seconds.</span> {seconds} s
    </p>
  );
}

/** A form made of what the plugin can be configured with; the required and important settings come first. */
function NewConnector() {
  const plugins = useAsked(() => run("SHOW CONNECTOR PLUGINS;"), "plugins", 10_000);
  const [className, setClass] = useState("");
  const [name, setName] = useState("");
  const [values, setValues] = useState<Record<string, string>>({});
  const [hasAll, showAll] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const found = (plugins.value?.[0]?.connectorsPlugins ?? []).filter((one) => one.type === "source" || one.type === "sink");
  const plugin = found.find((one) => one.className === className);
  const asked = useAsked(async () => (className === "" ? [] : (await get<{ settings: ConnectorSetting[] }>(`connector-plugins/${encodeURIComponent(className)}`)).settings), className);
  const settings = (asked.value ?? []).filter((one) => !["name", "connector.class"].includes(one.name));
  const isMain = (one: ConnectorSetting) => one.required || one.importance === "HIGH" || !!values[one.name];
  const shown = [...settings.filter(isMain), ...(hasAll ? settings.filter((one) => !isMain(one)) : [])];
  const sql = createConnector(plugin?.type ?? "source", name || "name", className, values);
  const create = async (event: Event) => {
    event.preventDefault();
    try {
      await run(sql);
      open("connectors", name);
    } catch (error) {
      setProblem(error);
    }
  };
  return (
    <section class="page">
      <header><h1>New connector</h1><span class="space" /><a href={formatRoute("connectors")}>All connectors</a></header>
      {plugins.error !== null && <Problem error={plugins.error} />}
      {plugins.error === null && plugins.value === null && <Asking />}
      <form onSubmit={create} class="settings">
        <label>
          Class
          <select required value={className} onChange={(event) => (setClass(event.currentTarget.value), setValues({}))}>
            <option value="" disabled>{plugins.value !== null ? "Choose one" : plugins.error === null ? "Waiting for Kafka Connect …" : "Kafka Connect does not answer"}</option>
            {found.map((one) => <option key={one.className} value={one.className}>{one.className} ({one.type})</option>)}
          </select>
        </label>
        <label>Name <input required value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
        {asked.error !== null && <Problem error={asked.error} />}
        {shown.map((one) => (
          <label key={one.name}>
            <code>{one.name}</code>{one.required && <small> required</small>}
            <input
              type={one.type === "PASSWORD" ? "password" : "text"}
              autocomplete="off"
              required={one.required && one.defaultValue === null}
              placeholder={one.defaultValue ?? ""}
              value={values[one.name] ?? ""}
              onInput={(event) => setValues({ ...values, [one.name]: event.currentTarget.value })}
            />
            <small>{one.documentation}</small>
          </label>
        ))}
        {settings.length > shown.length && <button type="button" class="quiet" onClick={() => showAll(true)}>All {settings.length} settings</button>}
        {problem !== null && <Problem error={problem} />}
        {className !== "" && <div class="card"><h2>Statement</h2><Code sql={withoutSecrets(sql, settings, values)} /></div>}
        <div class="bar"><button class="main" disabled={className === "" || name === ""}>Create</button></div>
      </form>
    </section>
  );
}

function withoutSecrets(sql: string, settings: ConnectorSetting[], values: Record<string, string>): string {
  const secret = settings.filter((one) => one.type === "PASSWORD").map((one) => values[one.name]).filter((value): value is string => !!value);
  return secret.reduce((text, value) => text.replaceAll(value, "…"), sql);
}
