// Runs statements of a tab one after the other, and keeps what came of each.
import { signal, type Signal } from "@preact/signals";
import { ApiError, run } from "../api/client.ts";
import type { Column } from "../api/frames.ts";
import { stream } from "../api/rows.ts";
import type { Entity } from "../api/types.ts";
import { graph, refreshGraph } from "../state/graph.ts";
import { refusalOfAll } from "../state/rights.ts";
import { latest, LiveRows } from "./live.ts";
import { refreshMetadata } from "./metadata.ts";
import { keyOfResult } from "./plan.ts";
import type { Statement } from "./statements.ts";

export interface Outcome {
  id: number;
  statement: Statement;
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
let last = 0;

export class Runner {
  /** The newest first. Its outcomes change in place; `tick` says so. */
  readonly outcomes: Signal<Outcome[]> = signal([]);
  readonly tick = signal(0);
  readonly isRunning = signal(false);
  readonly settings: Signal<Record<string, string>> = signal({});
  private control: AbortController | null = null;
  private isDrawing = false;

  /**
   * Run statements until one fails, or stop() is called. Returns the outcome that failed.
   *
   * @param wantsKeys whether a table's rows are shown in place, by their keys; else each change is a row.
   */
  async run(statements: Statement[], wantsKeys = true): Promise<Outcome | null> {
    this.stop();
    const control = new AbortController();
    this.control = control;
    this.isRunning.value = true;
    try {
      for (const statement of statements) {
        const outcome = this.begin(statement);
        try {
          await this.one(outcome, wantsKeys, control.signal);
        } catch (error) {
          if (!control.signal.aborted) outcome.error = error;
          else outcome.message = "Stopped.";
          if (error instanceof ApiError) outcome.entities = error.body.entities ?? [];
        }
        outcome.endedMs = Date.now();
        this.changed();
        if (outcome.error) return outcome;
        if (control.signal.aborted) break;
      }
    } finally {
      if (this.control === control) this.isRunning.value = false;
    }
    return null;
  }

  stop(): void {
    this.control?.abort();
    this.isRunning.value = false;
  }

  clear(): void {
    this.outcomes.value = [];
  }

  private begin(statement: Statement): Outcome {
    const outcome: Outcome = {
      id: ++last, statement, startedMs: Date.now(), endedMs: null,
      entities: [], columns: [], keys: [], live: null, lines: [], message: "", error: null,
    };
    this.outcomes.value = [outcome, ...this.outcomes.value].slice(0, MOST_OUTCOMES);
    return outcome;
  }

  private async one(outcome: Outcome, wantsKeys: boolean, signal: AbortSignal): Promise<void> {
    const { text, verb, isQuery, isPush, property, value, role } = outcome.statement;
    const refused = refusalOfAll(role);
    if (refused !== null) throw new Error(`${verb} ${refused}.`);
    if (isQuery || verb === "PRINT") {
      outcome.keys = wantsKeys && isQuery && isPush ? await keysOf(text, this.settings.value, signal) : [];
      const final = await stream(text, this.settings.value, {
        columns: (columns) => {
          outcome.columns = columns;
          const at = outcome.keys.map((key) => columns.findIndex((column) => column.name === key)).filter((index) => index >= 0);
          outcome.live = new LiveRows(at.length > 0 && at.length === outcome.keys.length ? at : null, isPush);
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
      void refreshGraph();
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

/** The key of a query whose result is a table; empty for streams, whose rows are all of their own. */
async function keysOf(text: string, settings: Record<string, string>, signal: AbortSignal): Promise<string[]> {
  let described;
  try {
    described = (await run(`EXPLAIN ${text}`, settings, signal))[0]?.queryDescription;
  } catch {
    return []; // the query itself will say what is wrong
  }
  if (described === undefined) return [];
  const windowed = graph.value?.nodes.filter((node) => node.windowed).map((node) => node.name) ?? [];
  return keyOfResult(described, described.sources.some((name) => windowed.includes(name)));
}
