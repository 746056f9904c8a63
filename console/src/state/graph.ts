// The graph of the server, asked for every few seconds while somebody looks.
import { signal } from "@preact/signals";
import { get, loginWanted, serverGone } from "../api/client.ts";
import type { Graph, GraphNode, QueryFigures } from "../api/types.ts";

const EVERY_MS = 2500;
/** How soon a server that is gone is asked again. */
const AGAIN_MS = 1500;

/** So many samples, one every five seconds, are half an hour. */
const MOST_SAMPLES = 360;

/** What a graph said of queries, and of the topics of streams and tables, by name. */
interface Sample {
  timeMs: number;
  queries: Map<string, QueryFigures>;
  topics: Map<string, NonNullable<GraphNode["topicFigures"]>>;
}

export const graph = signal<Graph | null>(null);
/** The figures since the console was opened, the oldest first. */
export const samples = signal<Sample[]>([]);
/** Why the graph could not be had, although the server answers. */
export const graphProblem = signal<string | null>(null);

let timer: ReturnType<typeof setTimeout> | undefined;

/** Ask now, and from now on. */
export async function refreshGraph(): Promise<void> {
  clearTimeout(timer);
  if (loginWanted.value === null && !document.hidden) {
    try {
      graph.value = await get<Graph>("graph");
      keep(graph.value);
      graphProblem.value = null;
    } catch (error) {
      graphProblem.value = error instanceof Error ? error.message : String(error);
    }
  }
  clearTimeout(timer);
  timer = setTimeout(refreshGraph, serverGone.value === null ? EVERY_MS : AGAIN_MS);
}

function keep({ timeMs, nodes }: Graph): void {
  const latest = samples.value.at(-1)?.timeMs;
  if (timeMs === null || timeMs === latest) return;
  const sample: Sample = { timeMs, queries: new Map(), topics: new Map() };
  for (const { kind, name, topic, figures, topicFigures } of nodes) {
    if (kind === "QUERY" && figures !== undefined) sample.queries.set(name, figures);
    if (topic !== undefined && topicFigures !== undefined) sample.topics.set(topic, topicFigures);
  }
  samples.value = [...samples.value.filter((one) => one.timeMs < timeMs), sample].slice(-MOST_SAMPLES);
}

/** Keep the graph up to date; not in a tab that nobody sees. */
export function followGraph(): void {
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) void refreshGraph();
  });
  loginWanted.subscribe((wanted) => {
    if (wanted === null) void refreshGraph();
  });
}

/** How many single records failed; those that came too late are no errors. */
export function failedOf(figures: QueryFigures | undefined): number {
  return Object.entries(figures?.errors ?? {}).reduce((sum, [kind, number]) => (kind === "late" ? sum : sum + number), 0);
}

/** Whether a stream or topic is the server's own, of the records that failed. */
export function isLog(name: string): boolean {
  return name.toUpperCase().includes("PROCESSING_LOG");
}
