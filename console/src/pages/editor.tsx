// Statements in several tabs, and what comes of them.
import "../first.ts";
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, run, split } from "../api/client.ts";
import { Confirm } from "../parts/confirm.tsx";
import { OutcomeView } from "../parts/outcome.tsx";
import { Problem } from "../parts/problem.tsx";
import { Tree } from "../parts/tree.tsx";
import { SqlEditorView, type SqlEditor } from "../parts/sql-editor.tsx";
import { effectOf, isCascade, type Effect } from "../sql/effect.ts";
import { refreshMetadata } from "../sql/metadata.ts";
import { Runner } from "../sql/runner.ts";
import { isPlanned, isReplacement, positionOf, statementAt, type Statement } from "../sql/statements.ts";
import { graph } from "../state/graph.ts";
import { refusalOfAll } from "../state/rights.ts";
import { route, setOptions } from "../state/route.ts";
import { saveFile } from "../format/files.ts";
import { recall, remember } from "../state/stored.ts";

interface Tab {
  id: number;
  name: string;
  text: string;
}

const FIRST: Tab = { id: 1, name: "Statements 1", text: "" };
const MOST_HISTORY = 100;
const CHECK_AFTER_MS = 700;
const EXPLAIN = "EXPLAIN ";
/** In narrower windows the tree of objects is hidden at first. */
const NARROW_PX = 900;

const tabs = signal<Tab[]>(recall("tabs", [FIRST]));
const history = signal<string[]>(recall("history", []));
const runners = new Map<number, Runner>();

function keep(changed: Tab[]): void {
  tabs.value = changed;
  remember("tabs", changed);
}

function runnerOf(id: number): Runner {
  let found = runners.get(id);
  if (found === undefined) runners.set(id, (found = new Runner()));
  return found;
}

export function EditorPage() {
  const [open, setOpen] = useState(() => recall("tab", tabs.value[0]?.id ?? 1));
  const [hasTree, showTree] = useState(() => recall("tree", innerWidth > NARROW_PX));
  const editor = useRef<SqlEditor | null>(null);
  useEffect(() => void refreshMetadata(), []);
  const add = (text = "", name?: string) => {
    const id = Math.max(0, ...tabs.value.map((tab) => tab.id)) + 1;
    keep([...tabs.value, { id, name: name ?? `Statements ${id}`, text }]);
    choose(id);
  };
  const choose = (id: number) => (setOpen(id), remember("tab", id));
  const close = (id: number) => {
    runnerOf(id).stop();
    runners.delete(id);
    const left = tabs.value.filter((tab) => tab.id !== id);
    keep(left.length > 0 ? left : [{ ...FIRST }]);
    if (id === open) choose(tabs.value[0]!.id);
  };
  const load = async (input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (file !== undefined) add(await file.text(), file.name.replace(/\.k?sql$/, ""));
    input.value = "";
  };
  // a link may bring a statement with it
  const given = route.value.options.sql;
  useEffect(() => {
    if (given === undefined) return;
    add(given);
    setOptions({ sql: undefined });
  }, [given]);
  const tab = tabs.value.find((one) => one.id === open) ?? tabs.value[0]!;
  return (
    <section class="editor">
      <h1 class="hidden">Editor</h1>
      {hasTree ? <Tree onInsert={(text) => editor.current?.insert(text)} onQuery={(statement) => editor.current?.append(statement)} /> : <span />}
      <div class="work">
      <div class="tabs" role="group" aria-label="Tabs">
        <button class="quiet" aria-expanded={hasTree} onClick={() => (showTree(!hasTree), remember("tree", !hasTree))}>Objects</button>
        {tabs.value.map((one) => (
          <span key={one.id} class={one.id === tab.id ? "tab open" : "tab"}>
            <button aria-current={one.id === tab.id ? "true" : undefined} onClick={() => choose(one.id)} onDblClick={() => rename(one)} onKeyDown={(event) => event.key === "F2" && rename(one)} title="Double-click or F2: another name">{one.name}</button>
            <button class="close" aria-label={`Close ${one.name}`} onClick={() => close(one.id)}>×</button>
          </span>
        ))}
        <button class="quiet" onClick={() => add()} aria-label="New tab">+</button>
        <span class="space" />
        <label class="quiet">Open a file <input type="file" accept=".sql,.ksql,text/plain" class="hidden" onChange={(event) => void load(event.currentTarget)} /></label>
        <button class="quiet" onClick={() => saveFile(`${tab.name}.sql`, "application/sql", tab.text)}>Save as a file</button>
      </div>
      <TabView key={tab.id} tab={tab} editor={editor} />
      </div>
    </section>
  );
}

function rename(tab: Tab): void {
  const name = prompt("Name of the tab", tab.name);
  if (name) keep(tabs.value.map((one) => (one.id === tab.id ? { ...one, name } : one)));
}

function TabView({ tab, editor }: { tab: Tab; editor: { current: SqlEditor | null } }) {
  /** The text in which a run has marked an error: a check of it, which may be late, takes no mark away. */
  const marked = useRef<string | null>(null);
  const runner = runnerOf(tab.id);
  const [hasHistory, showHistory] = useState(false);
  const [asked, setAsked] = useState<{ effects: Effect[]; chosen: Statement[] } | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  /** Do something that asks the server, and show what is wrong with it. */
  const attempt = (work: () => Promise<void>) => (setProblem(null), void work().catch(setProblem));
  const start = async (all: boolean) => {
    const { text, cursor, from, to } = editor.current!.read();
    const chosen = !all && from < to ? shifted(await split(text.slice(from, to)), from) : await statements(text, all ? null : cursor);
    if (chosen.length === 0) return;
    // what the user may not do is refused without a question
    const effects = chosen.flatMap((one) => (refusalOfAll(one.role) === null && effectOf(one, graph.value)) || []);
    for (const effect of effects) {
      const one = chosen.find(({ text }) => text === effect.statement)!;
      if (isCascade(one)) effect.report = await described(`EXPLAIN ${closed(one).text}`, runner);
      if (one.verb === "ROLLBACK") effect.report = await described(`EXPLAIN EVOLUTION ${closed(one).text}`, runner);
    }
    for (const one of chosen.filter(isReplacement)) {
      const report = await described(`EXPLAIN EVOLUTION ${closed(one).text}`, runner);
      if (report !== "") effects.push({ statement: closed(one).text, what: "", about: "", affected: [], report });
    }
    if (effects.length > 0) setAsked({ effects, chosen });
    else await go(chosen);
  };
  const explain = async () => {
    const { text, cursor } = editor.current!.read();
    const [statement] = await statements(text, cursor);
    if (statement !== undefined) await go([{ ...statement, text: EXPLAIN + statement.text, verb: "EXPLAIN", isQuery: false, property: null, role: "reader" }]);
  };
  const go = async (chosen: Statement[]) => {
    editor.current!.mark([]);
    note(chosen);
    const { text } = editor.current!.read();
    const failed = await runner.run(chosen.map(closed));
    marked.current = failed === null ? null : text;
    if (failed !== null) mark(editor.current, failed.statement, failed.error);
  };
  useEffect(() => {
    // what EXPLAIN can plan is checked a moment after the last key
    const timer = setTimeout(async () => {
      if (editor.current === null || runner.isRunning.value) return;
      const { text, cursor } = editor.current.read();
      if (text === marked.current) return;
      const [statement] = await statements(text, cursor).catch(() => []);
      const planned = statement !== undefined && isPlanned(statement) ? statement : null;
      const error = planned && (await run(`${EXPLAIN}${planned.text}`, runner.settings.value).then(() => null, (problem: unknown) => problem));
      if (editor.current?.read().text !== text || text === marked.current) return;
      if (planned === null || error === null) editor.current.mark([]);
      else mark(editor.current, planned, error);
    }, CHECK_AFTER_MS);
    return () => clearTimeout(timer);
  }, [tab.text]);
  const settings = Object.entries(runner.settings.value);
  const isRefused = asked?.effects.some((effect) => effect.isRefused) ?? false;
  const tick = runner.tick.value;
  return (
    <>
      <div class="write">
        <SqlEditorView
          text={tab.text}
          onChange={(text) => keep(tabs.value.map((one) => (one.id === tab.id ? { ...one, text } : one)))}
          onRun={(all) => attempt(() => start(all))}
          onReady={(ready) => (editor.current = ready)}
        />
      </div>
      <div class="bar">
        {refusalOfAll("developer") !== null && <span class="hint">SELECT, SHOW, DESCRIBE and EXPLAIN: what changes something {refusalOfAll("developer")}.</span>}
        <button class="main" onClick={() => attempt(() => start(false))} title="Ctrl-Enter: the selection, or the statement at the cursor">Run</button>
        <button onClick={() => attempt(() => start(true))} title="Ctrl-Shift-Enter">Run all</button>
        <button onClick={() => attempt(explain)} title="The plan of the statement at the cursor">Explain</button>
        <button onClick={() => runner.stop()} disabled={!runner.isRunning.value}>Stop</button>
        <label class="check">
          <input
            type="checkbox"
            checked={runner.settings.value["auto.offset.reset"] === "earliest"}
            onChange={(event) => {
              const { "auto.offset.reset": _, ...others } = runner.settings.value;
              runner.settings.value = event.currentTarget.checked ? { ...others, "auto.offset.reset": "earliest" } : others;
            }}
          /> From the beginning
        </label>
        <span class="space" />
        {settings.map(([name, value]) => <span class="chip" key={name}>{name} = {value}</span>)}
        <button class="quiet" aria-expanded={hasHistory} onClick={() => showHistory(!hasHistory)}>History</button>
        <button class="quiet" onClick={() => runner.clear()}>Clear</button>
      </div>
      {hasHistory && (
        <ol class="history" aria-label="History">
          {history.value.length === 0 && <li class="hint">No statement was run in this browser yet.</li>}
          {history.value.map((text) => (
            <li key={text}><button onClick={() => editor.current?.append(text)}><code>{text}</code></button></li>
          ))}
        </ol>
      )}
      {asked !== null && (
        <Confirm title={isRefused ? "It cannot run yet" : "Run it?"} action={isRefused ? null : "Run"} onAnswer={(isYes) => (setAsked(null), isYes && void go(asked.chosen))}>
          {asked.effects.map((effect) => (
            <div key={effect.statement}>
              <p><code>{effect.statement}</code></p>
              {effect.report && <pre tabIndex={0}>{effect.report}</pre>}
              <p>{effect.what}{effect.affected.length > 0 && ` ${effect.about}`}</p>
              <ul>{effect.affected.map((name) => <li key={name}>{name}</li>)}</ul>
            </div>
          ))}
        </Confirm>
      )}
      <div class="outcomes">
        {problem !== null && <Problem error={problem} />}
        {runner.outcomes.value.map((outcome) => <OutcomeView key={outcome.id} outcome={outcome} tick={tick} />)}
        {runner.outcomes.value.length === 0 && (
          <p class="hint pad keys">Ctrl-Enter runs the selection, or the statement at the cursor. Ctrl-Space completes. Esc, then Tab, leaves the text.</p>
        )}
      </div>
    </>
  );
}

/** What a statement would change, as EXPLAIN says it; empty if the server will refuse it, or has nothing to say. */
async function described(explain: string, runner: Runner): Promise<string> {
  try {
    return (await run(explain, runner.settings.value))[0]?.queryDescription?.executionPlan ?? "";
  } catch {
    return ""; // what it changes is new, or the statement itself will say what is wrong
  }
}

/** The statement at a position, or all of a text. */
async function statements(text: string, position: number | null): Promise<Statement[]> {
  const all = await split(text);
  if (position === null) return all;
  const found = statementAt(all, text, position);
  return found === null ? [] : [found];
}

function shifted(statements: Statement[], by: number): Statement[] {
  return statements.map((one) => ({ ...one, start: one.start + by, end: one.end + by }));
}

/** The statement with its `;`, which the server wants. */
function closed(statement: Statement): Statement {
  return statement.isComplete ? statement : { ...statement, text: `${statement.text}\n;`, isComplete: true };
}

function note(statements: Statement[]): void {
  const texts = statements.map((one) => one.text).reverse();
  history.value = [...texts, ...history.value.filter((text) => !texts.includes(text))].slice(0, MOST_HISTORY);
  remember("history", history.value);
}

/** Mark where the server says that a statement is wrong. */
function mark(editor: SqlEditor | null, statement: Statement, error: unknown): void {
  if (!(error instanceof ApiError) || editor === null) return;
  const indent = error.body.statementText?.startsWith(EXPLAIN) ? EXPLAIN.length : 0;
  const { text } = editor.read();
  const at = positionOf(error.body.message);
  const lines = statement.text.split("\n");
  const before = at === null ? 0 : lines.slice(0, at.line - 1).reduce((sum, line) => sum + line.length + 1, 0) + at.column - 1 - (at.line === 1 ? indent : 0);
  const from = Math.min(statement.start + Math.max(0, before), text.length);
  const word = at === null ? statement.text.length : (/^\w+/.exec(text.slice(from))?.[0].length ?? 1);
  editor.mark([{ from, to: Math.min(from + word, text.length), severity: "error", message: error.body.message }]);
}
