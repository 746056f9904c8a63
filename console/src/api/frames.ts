// What lines of the answer to a query mean.
import { parseExactly } from "../format/json.ts";

export type Cell = unknown;

export interface Column {
  name: string;
  type: string;
  isKey?: boolean;
  /** Whether it is a time of the engine under another name. */
  isTime?: boolean;
}

export interface Frame {
  header?: { queryId: string; schema: string };
  row?: { columns: Cell[]; tombstone?: boolean };
  errorMessage?: { message: string };
  finalMessage?: string;
}

/** The frame on one line of an array of frames. */
export function frameOf(line: string): Frame | null {
  const text = line.replace(/^\[/, "").replace(/[,\]]\s*$/, "");
  return text.trim() === "" ? null : (parseExactly(text) as Frame);
}

/** The columns of a schema such as "`ITEM` STRING, `PRICES` ARRAY<DECIMAL(4, 2)>". */
export function columnsOf(schema: string): Column[] {
  const found: Column[] = [];
  let at = 0;
  while (at < schema.length) {
    const quoted = /\s*`((?:[^`]|``)*)`\s+/y;
    quoted.lastIndex = at;
    const match = quoted.exec(schema);
    if (match === null) break;
    at = quoted.lastIndex;
    const start = at;
    for (let depth = 0, isName = false; at < schema.length && (depth > 0 || schema[at] !== ","); at++) {
      if (schema[at] === "`") isName = !isName;
      if (isName) continue;
      if (schema[at] === "<" || schema[at] === "(") depth++;
      else if (schema[at] === ">" || schema[at] === ")") depth--;
    }
    const type = schema.slice(start, at).trim();
    const name = (match[1] ?? "").replaceAll("``", "`");
    found.push(type.endsWith(" KEY") ? { name, type: type.slice(0, -4), isKey: true } : { name, type });
    at++;
  }
  return found;
}
