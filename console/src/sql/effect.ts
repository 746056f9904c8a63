// What statements would end or remove, for a question before they run.
import type { Graph, GraphNode } from "../api/types.ts";
import { after } from "../graph/after.ts";
import { isSource, type Statement } from "./statements.ts";

export interface Effect {
  statement: string;
  /** What it removes or ends, in words. */
  what: string;
  /** Queries, streams and tables that it is about, and how. */
  affected: string[];
  about: string;
  /** How the server describes it. */
  report?: string;
  /** Whether the server will refuse it as things are. */
  isRefused?: boolean;
}

/** What the end of a query, or its pause, means for what comes after it. */
const STARVED = "These get nothing new from it any more:";

/** What DROP means for other objects than streams and tables, if it is more than that they are removed. */
const REMOVED: Record<string, string> = {
  VIEW: "The view is removed. Queries that run with it go on; new ones can no longer read it.",
  INDEX: "The index is removed: pull queries by its columns read the whole table again.",
  TYPE: "The name of the type is removed. Streams and tables that were declared with it stay as they are.",
  CONNECTOR: "The connector is removed from Kafka Connect, and its tasks end. Its topics stay.",
  SINK: "The sink is removed, and nothing is written to its lake table any more. The table stays.",
};

/** The effect of a statement that pauses, ends or removes something; null: it does not. */
export function effectOf(statement: Statement, graph: Graph | null): Effect | null {
  const { text, verb, object, name } = statement;
  const removed = effectOfRemoval(statement);
  if (removed !== null) return { statement: text, what: removed, about: "", affected: [] };
  const isDrop = verb === "DROP" && isSource(object);
  const isControl = (verb === "PAUSE" || verb === "TERMINATE") && object === "QUERY";
  if ((!isDrop && !isControl) || name === "") return null;
  const of = (id: string) => (graph === null ? [] : after(graph, id).map(named));
  if (isDrop) return effectOfDrop(statement, graph);
  const isPause = verb === "PAUSE";
  if (name === "ALL") {
    const queries = graph?.nodes.filter((node) => node.kind === "QUERY") ?? [];
    return { statement: text, what: isPause ? "All queries read no more records until they are resumed." : "All queries end for good, and their state is removed.", about: STARVED, affected: queries.map(named) };
  }
  const what = isPause ? `The query ${name} reads no more records until it is resumed.` : `The query ${name} ends for good, and its state is removed.`;
  return { statement: text, what, about: STARVED, affected: of(`query:${name}`) };
}

/** What statements about other things than queries, streams and tables remove or take back, in words; null: they do neither. */
function effectOfRemoval({ text, verb, object, name, isReplacement }: Statement): string | null {
  if (verb === "DROP" && !isSource(object)) return REMOVED[object] ?? `The ${object.toLowerCase()} ${name} is removed.`;
  if (verb === "TRUNCATE") return `All rows of ${name || "the table"} are deleted.`;
  if (verb === "DELETE") return `The rows of ${name || "the table"} for which the condition is true are deleted.`;
  if (verb === "FORGET" && !/\bPREVIEW\s*=\s*TRUE\b/i.test(text)) return `The keys are removed from ${name || "the table"} and from the state of its query. Nothing takes that back.`;
  if (verb === "UPDATE") return `The rows of ${name || "the table"} for which the condition is true are changed.`;
  if (verb === "SWAP") return `The new version of ${name} takes the place of the current one. ROLLBACK ${name} takes that back.`;
  if (verb === "CREATE" && object === "VIEW" && isReplacement) return `If there is a view ${name}, it gets this query. Queries that run with it go on as they are.`;
  if (verb !== "ROLLBACK") return null;
  const version = /\sTO\s+VERSION\s+(\d+)\s*;?$/i.exec(text)?.[1];
  const what = version === undefined ? "It takes the last change back: the version before it is restored" : `It takes back all changes after version ${version}, which is restored`;
  return `${what}. A second ROLLBACK undoes this one.`;
}

/** Whether a DROP also removes what was created from its stream or table. */
export function isCascade({ text, verb }: Statement): boolean {
  return verb === "DROP" && /^\S+\s+\S+\s+\S.*\sCASCADE\s*;?$/is.test(text);
}

function effectOfDrop(statement: Statement, graph: Graph | null): Effect {
  const { text, object, name, deletesTopic } = statement;
  const kind = object.toLowerCase();
  const id = `${kind}:${name}`;
  const topic = graph?.nodes.find((node) => node.id === id)?.topic;
  const records = deletesTopic ? `, and the topic ${topic ?? "of it"} with all its records` : "; its topic stays";
  if (isCascade(statement)) {
    const all = deletesTopic ? ", and the topics of all of them are deleted with all their records" : "; the topics stay";
    return { statement: text, what: `The ${kind} ${name} is removed with all that was created from it, and each query that reads or writes any of that ends${all}.`, about: "", affected: [] };
  }
  const queries = (where: (source: string, target: string) => string | null) =>
    graph?.nodes.filter((node) => node.kind === "QUERY" && graph.edges.some((edge) => where(edge.source, edge.target) === node.id)) ?? [];
  const readers = queries((source, target) => (source === id ? target : null));
  const writers = queries((source, target) => (topic !== undefined && target === `topic:${topic}` ? source : null));
  const inserting = writers.filter((node) => /^\s*INSERT\b/i.test(node.statement ?? ""));
  const blocking = [...new Set([...readers, ...inserting])];
  if (blocking.length > 0) {
    const what = `The server refuses to drop the ${kind} ${name} while queries read it or insert into it. Drop what they created and terminate the others first, or add CASCADE, which does that too.`;
    return { statement: text, what, about: "These are in the way:", affected: blocking.map(named), isRefused: true };
  }
  const ends = writers.length > 0 ? `, with ${writers.map(named).join(", ")} if that was created with it` : "";
  return { statement: text, what: `The ${kind} ${name} is removed${ends}${records}.`, about: "", affected: [] };
}

function named(node: GraphNode): string {
  return `${node.kind.toLowerCase()} ${node.name}`;
}
