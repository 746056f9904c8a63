// The results of SELECT and PRINT, read while they come.
import { send } from "./client.ts";
import { columnsOf, frameOf, type Cell, type Column } from "./frames.ts";

export interface Row {
  cells: Cell[];
  isDeleted: boolean;
}

export interface Reader {
  columns(columns: Column[], queryId: string): void;
  /** Rows that came together, in their order; a deletion has only its key. */
  rows(rows: Row[]): void;
  /** Lines of PRINT. */
  lines?(lines: string[]): void;
}

/** Run a query until it ends or `signal` is aborted; its last message, if it has one. */
export async function stream(
  sql: string,
  properties: Record<string, string>,
  reader: Reader,
  signal: AbortSignal,
): Promise<string | null> {
  const isPrint = /^\s*print\b/i.test(sql);
  const response = await send("query-stream", {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: isPrint ? "application/vnd.ksqlapi.delimited.v1" : "application/vnd.ksql.v1+json",
    },
    body: JSON.stringify({ sql, properties }),
    signal,
  });
  let final: string | null = null;
  for await (const lines of batches(response)) {
    if (isPrint) {
      reader.lines?.(lines);
      continue;
    }
    const rows: Row[] = [];
    for (const line of lines) {
      const frame = frameOf(line);
      if (frame === null) continue;
      if (frame.header) reader.columns(columnsOf(frame.header.schema), frame.header.queryId);
      else if (frame.row) rows.push({ cells: frame.row.columns, isDeleted: frame.row.tombstone ?? false });
      else if (frame.errorMessage) throw new Error(frame.errorMessage.message);
      else if (frame.finalMessage) final = frame.finalMessage;
    }
    if (rows.length > 0) reader.rows(rows);
  }
  return final;
}

/** The lines that came together. */
async function* batches(response: Response): AsyncGenerator<string[]> {
  const source = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await source.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0) yield lines;
  }
  if (rest.trim() !== "") yield [rest];
}

/** All rows of a query that ends. */
export async function rowsOf(sql: string, signal = new AbortController().signal): Promise<{ columns: Column[]; rows: Cell[][] }> {
  let columns: Column[] = [];
  const rows: Cell[][] = [];
  await stream(sql, {}, { columns: (found) => (columns = found), rows: (found) => rows.push(...found.map((row) => row.cells)) }, signal);
  return { columns, rows };
}

/** Insert rows into a stream or table; members are named as its columns. */
export async function insert(target: string, rows: Record<string, unknown>[]): Promise<void> {
  const response = await send("inserts-stream", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: [{ target }, ...rows].map((line) => JSON.stringify(line)).join("\n"),
  });
  const refused = (await response.text()).split("\n").find((line) => line.includes('"error"'));
  if (refused !== undefined) throw new Error((JSON.parse(refused) as { message?: string }).message ?? refused);
}
