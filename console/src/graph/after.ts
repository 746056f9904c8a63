// What a query's end or pause affects.
import type { Graph, GraphNode } from "../api/types.ts";

/** Everything that gets records from a node, the nearest first: sources and queries, without topics. */
export function after(graph: Graph, id: string): GraphNode[] {
  const seen = new Set([id]);
  const found: string[] = [id];
  for (const next of found) {
    for (const { source, target } of graph.edges) {
      if (source === next && !seen.has(target)) {
        seen.add(target);
        found.push(target);
      }
    }
  }
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  return found.slice(1).flatMap((one) => nodes.get(one) ?? []).filter((node) => node.kind !== "TOPIC");
}
