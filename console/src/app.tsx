// The frame of all pages: navigation, whether the server is there, and the page that is open.
import type { ComponentType } from "preact";
import { authorization, loginWanted, logOut, serverGone } from "./api/client.ts";
import { EditorPage } from "./pages/editor.tsx";
import { FlowPage } from "./pages/flow.tsx";
import { FunctionsPage } from "./pages/functions.tsx";
import { LoginPage } from "./pages/login.tsx";
import { QueryPage } from "./pages/query.tsx";
import { ServerPage } from "./pages/server.tsx";
import { SourcePage } from "./pages/source.tsx";
import { graph } from "./state/graph.ts";
import { formatRoute, route } from "./state/route.ts";
import { theme, toggleTheme } from "./state/theme.ts";

const PAGES: Record<string, ComponentType> = {
  flow: FlowPage,
  editor: EditorPage,
  source: SourcePage,
  query: QueryPage,
  functions: FunctionsPage,
  server: ServerPage,
};

const MENU = [
  ["flow", "Flow"],
  ["editor", "Editor"],
  ["functions", "Functions"],
  ["server", "Server"],
] as const;

export function App() {
  const { page, name } = route.value;
  const Page = PAGES[page] ?? FlowPage;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        Skip to content
      </a>
      <header class="top">
        <a class="brand" href={formatRoute("flow")}>ksql-spark</a>
        <nav aria-label="Pages">
          {MENU.map(([id, label]) => (
            <a key={id} href={formatRoute(id)} aria-current={page === id ? "page" : undefined}>{label}</a>
          ))}
        </nav>
        <span class="space" />
        <Status />
        {authorization.value !== null && <button class="quiet" onClick={logOut}>Log out</button>}
        <button class="quiet" onClick={toggleTheme} aria-label={`Use ${theme.value === "dark" ? "light" : "dark"} colours`}>
          {theme.value === "dark" ? "☀" : "☾"}
        </button>
      </header>
      <div role="status" aria-live="polite">
        {serverGone.value !== null && loginWanted.value === null && (
          <p class="banner bad">
            <strong>{serverGone.value}</strong> This page asks again every other second, and goes on by itself.
          </p>
        )}
      </div>
      <main id="main" tabIndex={-1}>
        {loginWanted.value !== null ? <LoginPage /> : <Page key={`${page}/${name}`} />}
      </main>
    </>
  );
}

/** How many queries run, in words. */
function Status() {
  const queries = graph.value?.nodes.filter((node) => node.kind === "QUERY") ?? [];
  if (serverGone.value !== null) return <span class="state bad">server gone</span>;
  if (queries.length === 0) return null;
  const failed = queries.filter((node) => node.state === "ERROR").length;
  const running = queries.filter((node) => node.state === "RUNNING").length;
  return (
    <span class={`state ${failed > 0 ? "bad" : "good"}`}>
      {running} of {queries.length} running{failed > 0 ? `, ${failed} failed` : ""}
    </span>
  );
}
