// Runs statements of a tab one after the other, beside a query that goes on, and keeps what came of each.
import { signal, type Signal } from "@preact/signals";
import { ApiError, run } from "../api/client.ts";
import type { Column } from "../api/frames.ts";
import { stream } from "../api/rows.ts";
import type { Entity } from "../api/types.ts";
import { renamedTimes } from "../format/times.ts";
import { graph, refreshGraph } from "../state/graph.ts";
import { refusalOfAll } from "../state/rights.ts";
import { latest, LiveRows } from "./live.ts";
import { described, refreshMetadata } from "./metadata.ts";
import { keyOfResult } from "./plan.ts";
import type { Statement } from "./statements.ts";

export interface Outcome {
  id: number;
  statement: Statement;
  /** Whether it is not sent yet: statements before it are not done. */
  isWaiting: boolean;
  startedMs: number;
  endedMs: number | null;
  entities: Entity[];
  columns: Column[];
  keys: string[];
  live: LiveRows | null;
  lines: string[];
  message: string;
  error: unknown;
}

const MOST_OUTCOMES = 20;
const STOPPED = "Stopped.";
const FROM_NOW_ON = "It reads only records from now on. To begin with the first ones, drop it, tick From the beginning and create it again.";
let last = 0;

export class Runner {
  /** The newest first. Its outcomes change in place; `tick` says so. */
  readonly outcomes: Signal<Outcome[]> = signal([]);
  readonly tick = signal(0);
  readonly isRunning = signal(false);
  readonly settings: Signal<Record<string, string>> = signal({});
  /** Of the runs that are not done. */
  private readonly controls = new Set<AbortController>();
  /** Of the run whose query gives rows now. */
  private query: AbortController | null = null;
  /** Done as soon as the next statement may be sent. */
  private turn: Promise<void> = Promise.resolve();
  private isDrawing = false;

  /**
   * Run statements until one fails, or stop() is called. Returns the outcome that failed. They wait for those that
   * were sent before; only a query does not keep the next statement waiting, and the next query ends it.
   *
   * @param wantsKeys whether a table's rows are shown in place, by their keys; else each change is a row.
   */
  async run(statements: Statement[], wantsKeys = true): Promise<Outcome | null> {
    const control = new AbortController();
    this.controls.add(control);
    this.isRunning.value = true;
    let pass: (() => void) | null = null;
    try {
      for (const statement of statements) {
        const outcome = this.begin(statement);
        pass ??= await this.take();
        outcome.isWaiting = false;
        this.changed();
        const isQuery = isStreamed(statement);
        if (isQuery && !control.signal.aborted) {
          if (this.query !== control) this.query?.abort("The next query of this tab has ended it.");
          this.query = control;
          pass();
          pass = null;
        }
        const isSent = !control.signal.aborted;
        try {
          if (isSent) await this.one(outcome, wantsKeys, control.signal);
          else outcome.message = "Stopped before it was sent.";
        } catch (error) {
          if (!control.signal.aborted) outcome.error = error;
          else outcome.message = isQuery || statement.role === "reader" ? control.signal.reason : "It was sent. Whether it took effect is not known, because you did not wait for the answer.";
          if (error instanceof ApiError) outcome.entities = error.body.entities ?? [];
        }
        if (isQuery && this.query === control) this.query = null;
        outcome.endedMs = Date.now();
        this.changed();
        if (outcome.error) return outcome;
        if (control.signal.aborted) break;
      }
    } finally {
      pass?.();
      this.controls.delete(control);
      this.isRunning.value = this.controls.size > 0;
    }
    return null;
  }

  /** End queries, and wait for no answer any more. */
  stop(): void {
    for (const control of this.controls) control.abort(STOPPED);
  }

  clear(): void {
    this.outcomes.value = [];
  }

  private begin(statement: Statement): Outcome {
    const outcome: Outcome = {
      id: ++last, statement, isWaiting: true, startedMs: Date.now(), endedMs: null,
      entities: [], columns: [], keys: [], live: null, lines: [], message: "", error: null,
    };
    this.outcomes.value = [outcome, ...this.outcomes.value].filter((one, at) => at < MOST_OUTCOMES || one.endedMs === null);
    return outcome;
  }

  /** Wait for the statements that were sent before. Returns what lets the next ones begin. */
  private async take(): Promise<() => void> {
    const before = this.turn;
    let pass!: () => void;
    this.turn = new Promise((done) => (pass = done));
    await before;
    return pass;
  }

  private async one(outcome: Outcome, wantsKeys: boolean, signal: AbortSignal): Promise<void> {
    const { text, verb, isQuery, isPush, property, value, role } = outcome.statement;
    const refused = refusalOfAll(role);
    if (refused !== null) throw new Error(`${verb} ${refused}.`);
    if (isStreamed(outcome.statement)) {
      outcome.keys = wantsKeys && isQuery && isPush ? await keysOf(text, this.settings.value, signal) : [];
      const final = await stream(text, this.settings.value, {
        columns: (columns) => {
          const times = timesOf(text);
          outcome.columns = columns.map((column) => (column.type === "BIGINT" && times.includes(column.name) ? { ...column, isTime: true } : column));
          const at = outcome.keys.map((key) => columns.findIndex((column) => column.name === key)).filter((index) => index >= 0);
          const hasKeys = at.length > 0 && at.length === outcome.keys.length;
          // the rows of a query that ends by itself are read from the first one on
          outcome.live = new LiveRows(hasKeys ? at : null, isPush && (hasKeys || limitOf(text) === null));
          this.changed();
        },
        rows: (rows) => {
          for (const { cells, isDeleted } of rows) outcome.live?.add(cells, isDeleted);
          this.changed();
        },
        lines: (lines) => {
          outcome.lines = latest([...outcome.lines, ...lines]);
          this.changed();
        },
      }, signal);
      outcome.message = final ?? "";
      return;
    }
    outcome.entities = await run(text, this.settings.value, signal);
    if (property !== null) {
      const { [property]: _, ...others } = this.settings.value;
      this.settings.value = value === null ? others : { ...others, [property]: value };
      outcome.message = value === null ? `${property} has its default again, in this tab.` : `${property} is ${value} in this tab.`;
    } else if (outcome.entities.length === 0) {
      outcome.message = "Done.";
    }
    if (role !== "reader") {
      void refreshMetadata();
      const graphed = refreshGraph();
      const queryId = outcome.entities[0]?.commandStatus?.queryId;
      if (verb === "CREATE" && queryId) {
        await graphed;
        if (await isFromNowOn(outcome.statement, queryId, this.settings.value)) outcome.message = FROM_NOW_ON;
      }
    }
  }

  /** Draw what has changed, at most once a frame. */
  private changed(): void {
    if (this.isDrawing) return;
    this.isDrawing = true;
    requestAnimationFrame(() => {
      this.isDrawing = false;
      this.tick.value++;
    });
  }
}

/** The columns of a query's result that it, or what it reads, has made from times of the engine. */
function timesOf(text: string): string[] {
  const words = new Set(text.toUpperCase().match(/\w+/g));
  return [text, ...described.value.filter(({ name }) => words.has(name)).map((one) => one.statement)].flatMap(renamedTimes);
}

/** Whether what was created leaves out the records that its streams have. */
async function isFromNowOn({ text, isReplacement }: Statement, queryId: string, settings: Record<string, string>): Promise<boolean> {
  const readsStream = graph.value?.edges.some((edge) => edge.target === `query:${queryId}` && edge.source.startsWith("stream:"));
  if (isReplacement || !readsStream || /\bSTART\s*=/i.test(text)) return false;
  const properties = (await run("SHOW PROPERTIES;", settings).catch(() => []))[0]?.properties;
  return properties?.find((one) => one.name.endsWith("auto.offset.reset"))?.value === "latest";
}

/** How many rows a statement ends after; null: it has no LIMIT. */
export function limitOf(text: string): number | null {
  const limit = /\sLIMIT\s+(\d+)\s*;?$/i.exec(text)?.[1];
  return limit === undefined ? null : Number(limit);
}

/** Whether it is a query whose rows are read as they come. */
function isStreamed({ isQuery, verb }: Statement): boolean {
  return isQuery || verb === "PRINT";
}

/** The key of a query whose result is a table; empty for streams, whose rows are all of their own. */
async function keysOf(text: string, settings: Record<string, string>, signal: AbortSignal): Promise<string[]> {
  let explained;
  try {
    explained = (await run(`EXPLAIN ${text}`, settings, signal))[0]?.queryDescription;
  } catch {
    return []; // the query itself will say what is wrong
  }
  if (explained === undefined) return [];
  const windowed = graph.value?.nodes.filter((node) => node.windowed).map((node) => node.name) ?? [];
  return keyOfResult(explained, explained.sources.some((name) => windowed.includes(name)));
}
