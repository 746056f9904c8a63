// What is offered only to those who may do it; others are told what it needs.
import type { ComponentChildren } from "preact";
import type { RoleName } from "../api/types.ts";
import { refusal } from "../state/rights.ts";

interface Props {
  least: RoleName;
  /** The id of a node of the graph, whose role counts; without it, the role for everything. */
  of?: string;
  /** What it is, in words: "Dropping it". */
  what: string;
  children: ComponentChildren;
}

export function Offered({ least, of, what, children }: Props) {
  const why = refusal(least, of);
  return why === null ? <>{children}</> : <span class="hint">{what} {why}.</span>;
}
