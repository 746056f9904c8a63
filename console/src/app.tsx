// The frame of all pages: navigation, whether the server is there, and the page that is open.
import type { ComponentType } from "preact";
import { authorization, isStarting, loginWanted, logOut, serverGone } from "./api/client.ts";
import { count, short } from "./format/numbers.ts";
import { FlowPage } from "./pages/flow.tsx";
import { LoginPage } from "./pages/login.tsx";
import { Keys, showKeys } from "./parts/keys.tsx";
import { later } from "./parts/later.tsx";
import { NotFound } from "./parts/not-found.tsx";
import { Tour } from "./parts/tour.tsx";
import { failedOf, graph } from "./state/graph.ts";
import { formatRoute, route } from "./state/route.ts";
import { others, pageOn } from "./state/servers.ts";
import { theme, toggleTheme } from "./state/theme.ts";
import { ended, sent, stopEvents } from "./stories/events.ts";

// all but the first page are loaded when they are opened
const PAGES: Record<string, ComponentType> = {
  flow: FlowPage,
  editor: later(() => import("./pages/editor.tsx").then((it) => it.EditorPage)),
  source: later(() => import("./pages/source.tsx").then((it) => it.SourcePage)),
  query: later(() => import("./pages/query.tsx").then((it) => it.QueryPage)),
  topics: later(() => import("./pages/topics.tsx").then((it) => it.TopicsPage)),
  connectors: later(() => import("./pages/connectors.tsx").then((it) => it.ConnectorsPage)),
  log: later(() => import("./pages/log.tsx").then((it) => it.LogPage)),
  functions: later(() => import("./pages/functions.tsx").then((it) => it.FunctionsPage)),
  server: later(() => import("./pages/server.tsx").then((it) => it.ServerPage)),
};

const MENU = [
  ["flow", "Flow"],
  ["editor", "Editor"],
  ["topics", "Topics"],
  ["connectors", "Connectors"],
  ["log", "Failed records"],
  ["functions", "Functions"],
  ["server", "Server"],
] as const;

/** Pages that are reached from another one. */
const UNDER: Record<string, string> = { query: "flow", source: "flow" };

export function App() {
  const { page, name } = route.value;
  // an address may name what every object has, such as constructor
  const Page = (Object.hasOwn(PAGES, page) && PAGES[page]) || UnknownPage;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        Skip to content
      </a>
      <header class="top">
        <a class="brand" href={formatRoute("flow")}><svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="#0f766e" /><path d="M5 11c5-5 8 5 13 0s7-3 9-1M5 21c5-5 8 5 13 0s7-3 9-1" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" /></svg>ksql-spark</a>
        <nav aria-label="Pages">
          {MENU.map(([id, label]) => (
            <a key={id} href={formatRoute(id)} aria-current={page === id ? "page" : page in UNDER && UNDER[page] === id ? "true" : undefined}>{label}{id === "log" && <Failed />}</a>
          ))}
        </nav>
        <span class="space" />
        <Events />
        <Status />
        {authorization.value !== null && <button class="quiet" onClick={logOut}>Log out</button>}
        <button class="quiet" onClick={showKeys} aria-label="Keys" title="Keys: ?">?</button>
        <button class="quiet" onClick={toggleTheme} aria-label={`Use ${theme.value === "dark" ? "light" : "dark"} colours`}>
          {theme.value === "dark" ? "☀" : "☾"}
        </button>
      </header>
      <div role="status" aria-live="polite">
        {serverGone.value !== null && loginWanted.value === null && (
          <p class={`banner ${isStarting.value ? "idle" : "bad"}`}>
            <strong>{isStarting.value ? "The server is starting." : serverGone.value}</strong> This page asks again every other second, and goes on by itself.
            {!isStarting.value && others.value.length > 0 && <> Go on at {others.value.map((host) => <><a key={host} href={pageOn(host)}>{host}</a> </>)}, which has the same service id.</>}
          </p>
        )}
      </div>
      <main id="main" tabIndex={-1}>
        {loginWanted.value !== null ? <LoginPage /> : <Page key={`${page}/${name}`} />}
      </main>
      <Tour />
      <Keys />
    </>
  );
}

function UnknownPage() {
  return <NotFound title="Page not found">The console has no page <code>{route.value.page}</code>.</NotFound>;
}

/** The events of a story that this page generates. */
function Events() {
  if (ended.value !== "") return <span class="state warn" title={ended.value}>no more rides: {ended.value}</span>;
  if (sent.value === null) return null;
  return <span class="state idle">{count(sent.value)} rides sent <button class="quiet" onClick={stopEvents}>Stop them</button></span>;
}

/** How many single records failed, in all queries. */
function failedRecords(): number {
  return graph.value?.nodes.reduce((sum, node) => sum + failedOf(node.figures), 0) ?? 0;
}

function Failed() {
  const failed = failedRecords();
  return failed === 0 ? null : <> <span class="state bad">{short(failed)}</span></>;
}

/** How many queries run, in words. */
function Status() {
  const queries = graph.value?.nodes.filter((node) => node.kind === "QUERY") ?? [];
  if (isStarting.value) return <span class="state idle">server starting</span>;
  if (serverGone.value !== null) return <span class="state bad">server gone</span>;
  if (queries.length === 0) return null;
  const failed = queries.filter((node) => node.state === "ERROR").length;
  const running = queries.filter((node) => node.state === "RUNNING").length;
  const starting = queries.filter((node) => node.state === "REGISTERED").length;
  const records = failedRecords();
  return (
    <span class={`state ${failed > 0 ? "bad" : records > 0 ? "warn" : starting > 0 ? "idle" : "good"}`}>
      {running} of {queries.length} running{failed > 0 ? `, ${failed} failed` : ""}{starting > 0 ? `, ${starting} starting` : ""}
      {records > 0 && `, ${short(records)} ${records === 1 ? "record" : "records"} failed`}
    </span>
  );
}
