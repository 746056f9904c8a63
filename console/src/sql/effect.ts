// What statements would end or remove, for a question before they run.
import type { Graph } from "../api/types.ts";
import { after } from "../graph/after.ts";
import { isSource, type Statement } from "./statements.ts";

export interface Effect {
  statement: string;
  /** What it removes or ends, in words. */
  what: string;
  /** What gets nothing new then. */
  affected: string[];
  /** How the server describes it. */
  report?: string;
}

/** The effect of a statement that pauses, ends or removes something; null: it does not. */
export function effectOf({ text, verb, object, name, deletesTopic }: Statement, graph: Graph | null): Effect | null {
  const isDrop = verb === "DROP" && isSource(object);
  const isControl = (verb === "PAUSE" || verb === "TERMINATE") && object === "QUERY";
  if ((!isDrop && !isControl) || name === "") return null;
  const of = (id: string) => (graph === null ? [] : after(graph, id).map((node) => `${node.kind.toLowerCase()} ${node.name}`));
  if (isDrop) {
    const kind = object.toLowerCase();
    const topic = graph?.nodes.find((node) => node.id === `${kind}:${name}`)?.topic;
    const records = deletesTopic ? `, and the topic ${topic ?? "of it"} with all its records` : "; its topic stays";
    const writers = graph?.edges.filter((edge) => topic !== undefined && edge.target === `topic:${topic}`).map((edge) => edge.source.replace(/^query:/, "query ")) ?? [];
    const ends = writers.length > 0 ? `, with ${writers.join(", ")} if that was created with it` : "";
    return { statement: text, what: `The ${kind} ${name} is removed${ends}${records}.`, affected: of(`${kind}:${name}`) };
  }
  const isPause = verb === "PAUSE";
  if (name === "ALL") {
    const queries = graph?.nodes.filter((node) => node.kind === "QUERY") ?? [];
    return { statement: text, what: isPause ? "All queries read no more records until they are resumed." : "All queries end for good, and their state is removed.", affected: queries.map((node) => `query ${node.name}`) };
  }
  const what = isPause ? `The query ${name} reads no more records until it is resumed.` : `The query ${name} ends for good, and its state is removed.`;
  return { statement: text, what, affected: of(`query:${name}`) };
}
