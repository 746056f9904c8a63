// What of the server's graph is drawn: boxes and lines, from which the layout is made.
import type { Graph, GraphNode } from "../api/types.ts";

export interface Box {
  id: string;
  kind: GraphNode["kind"] | "GROUP" | "STEP";
  name: string;
  /** What it stands for: a source with its topic, or all of a group. */
  nodes: GraphNode[];
  /** Of a step of a plan: lines below its name. */
  says?: string[];
}

export interface Line {
  source: string;
  target: string;
}

export interface Shape {
  boxes: Box[];
  lines: Line[];
  /** The same for shapes that have the same layout. */
  key: string;
}

export interface View {
  /** Draw topics by themselves, even those of one source. */
  topics: boolean;
  /** Only what is connected with this node, by its id. */
  focus?: string;
  /** Prefixes of names: all that begin with one are one box. */
  collapsed?: string[];
}

/** The boxes and lines of a graph. */
export function shapeOf(graph: Graph, view: View): Shape {
  const stands = new Map<string, string>();
  const boxes = new Map<string, Box>();
  const sourcesOf = new Map<string, GraphNode[]>();
  for (const node of graph.nodes) {
    if (node.topic !== undefined) sourcesOf.set(node.topic, [...(sourcesOf.get(node.topic) ?? []), node]);
  }
  // what a new version writes beside the table is drawn with it
  for (const { id, newVersionOf } of graph.nodes) {
    const table = graph.nodes.find((node) => node.id === `table:${newVersionOf}`);
    const topic = graph.edges.find((edge) => edge.source === id)?.target.slice("topic:".length);
    if (table !== undefined && topic !== undefined) sourcesOf.set(topic, [table]);
  }
  for (const node of graph.nodes) {
    const prefix = view.collapsed?.find((one) => node.name.toUpperCase().startsWith(one.toUpperCase()));
    const readers = node.kind === "TOPIC" ? (sourcesOf.get(node.name) ?? []) : [];
    let box: Box;
    if (prefix !== undefined) {
      box = { id: `group:${prefix}`, kind: "GROUP", name: `${prefix}…`, nodes: [] };
    } else if (!view.topics && readers.length === 1) {
      const reader = readers[0]!;
      box = { id: reader.id, kind: reader.kind, name: reader.name, nodes: [] };
    } else {
      box = { id: node.id, kind: node.kind, name: node.name, nodes: [] };
    }
    if (!boxes.has(box.id)) boxes.set(box.id, box);
    boxes.get(box.id)!.nodes.push(node);
    stands.set(node.id, box.id);
  }
  const lines = new Map<string, Line>();
  for (const edge of graph.edges) {
    const source = stands.get(edge.source);
    const target = stands.get(edge.target);
    if (source === undefined || target === undefined || source === target) continue;
    lines.set(`${source}\n${target}`, { source, target });
  }
  let kept = [...boxes.values()];
  let drawn = [...lines.values()];
  const focus = view.focus === undefined ? undefined : stands.get(view.focus);
  if (focus !== undefined) {
    const seen = connected(focus, drawn);
    kept = kept.filter((box) => seen.has(box.id));
    drawn = drawn.filter((line) => seen.has(line.source) && seen.has(line.target));
  }
  const key = JSON.stringify([kept.map((box) => [box.id, box.kind]), drawn.map((line) => [line.source, line.target])]);
  return { boxes: kept, lines: drawn, key };
}

/** All that a box gets records from or that gets records from it, and the box. */
export function connected(start: string, lines: Line[]): Set<string> {
  const found = new Set([start]);
  for (const [from, to] of [["source", "target"], ["target", "source"]] as const) {
    const ahead = new Map<string, string[]>();
    for (const line of lines) ahead.set(line[from], [...(ahead.get(line[from]) ?? []), line[to]]);
    const waiting = [start];
    const seen = new Set(waiting);
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      for (const one of ahead.get(next) ?? []) {
        if (seen.has(one)) continue;
        seen.add(one);
        found.add(one);
        waiting.push(one);
      }
    }
  }
  return found;
}

/** Prefixes up to an underscore, dot or dash that several names share, with how many do. */
export function prefixes(graph: Graph): { prefix: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const node of graph.nodes) {
    if (node.kind === "TOPIC" || node.kind === "QUERY") continue;
    const prefix = /^[^_.-]+[_.-]/.exec(node.name)?.[0];
    if (prefix !== undefined) counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count > 1).map(([prefix, count]) => ({ prefix, count })).sort((a, b) => b.count - a.count);
}
