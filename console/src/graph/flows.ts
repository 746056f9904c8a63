// What goes along the lines of the graph: how much, and whether it waits.
import type { GraphNode } from "../api/types.ts";
import type { Box, Line, Shape } from "./shape.ts";

export interface Flow {
  /** Records a second; null: not known. */
  perS: number | null;
  /** How the query at its end keeps up. */
  looks: "good" | "warn" | "bad" | "beside" | "";
}

/** From when on the oldest record that waits is worth a colour, seconds. */
const WARN_S = 10;
const BAD_S = 60;

/** The key of a line. */
export const lineKey = ({ source, target }: Line) => `${source}\n${target}`;

/** The flow along each line, by its key. */
export function flows({ boxes, lines }: Shape): Map<string, Flow> {
  const found = new Map(boxes.map((box) => [box.id, box]));
  const inputs = new Map<string, number>();
  for (const { target } of lines) inputs.set(target, (inputs.get(target) ?? 0) + 1);
  const along = ({ source, target }: Line): Flow => {
    const [from, to] = [found.get(source)!, found.get(target)!];
    const query = queryOf(to);
    // nothing yet
    if (queryOf(from)?.newVersionOf !== undefined) return { perS: null, looks: "beside" };
    if (query === undefined) return { perS: queryOf(from)?.figures?.writtenPerS ?? arriving(to) ?? arriving(from), looks: queryOf(from)?.state === "RUNNING" ? "good" : "" };
    const readPerS = query.figures?.readPerS ?? null;
    const comes = arriving(from);
    // of a query that reads several sources, only the sum is known
    const perS = inputs.get(target) === 1 || comes === null || readPerS === null ? readPerS : Math.min(comes, readPerS);
    return { perS, looks: looksOfLag(query) };
  };
  return new Map(lines.map((line) => [lineKey(line), along(line)]));
}

/** How thick a line is, pixels: each tenfold rate adds the same. */
export function thickness(perS: number | null): number {
  return 1.5 + Math.min(6.5, 1.6 * Math.log10(1 + (perS ?? 0)));
}

/** How long a mark takes along a line for its own distance, seconds; null: it stands still. */
export function pace(perS: number | null): number | null {
  return perS === null || perS <= 0 ? null : 2.4 / (1 + Math.log10(1 + perS));
}

/** The class of colours of how long the oldest record of a query has waited. */
export function looksOfLag({ state, figures, newVersionOf }: GraphNode): Flow["looks"] {
  const waited = newVersionOf === undefined ? (figures?.lagSeconds ?? 0) : 0; // it begins with old records
  return state === "ERROR" || waited > BAD_S ? "bad" : waited > WARN_S ? "warn" : state === "RUNNING" ? "good" : "";
}

function queryOf(box: Box): GraphNode | undefined {
  return box.kind === "QUERY" ? box.nodes[0] : undefined;
}

function arriving(box: Box): number | null {
  return box.nodes.find((node) => node.topicFigures !== undefined)?.topicFigures?.arrivingPerS ?? null;
}
