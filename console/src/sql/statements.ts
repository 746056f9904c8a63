// Statements, as the server splits a text and classifies them, and what is in messages about them.
import type { SchemaInfo, SplitStatement } from "../api/types.ts";

/** A statement with its text: from its first word to its `;`. */
export interface Statement extends SplitStatement {
  text: string;
}

/** A SELECT or PRINT that the console has written itself. */
export function own(text: string): Statement {
  const isQuery = !text.startsWith("PRINT");
  const isPush = isQuery && / EMIT CHANGES( LIMIT \d+)?;$/.test(text);
  return {
    text, start: 0, end: text.length, isComplete: true, verb: isQuery ? "SELECT" : "PRINT", object: "", name: "", isQuery, isPush,
    hasQuery: isQuery, isReplacement: false, deletesTopic: false, property: null, value: null, role: isQuery ? "reader" : "developer",
  };
}

/** The one of a text's statements at a position: that which it is in, or after whose `;` it is on the same line; else the next. */
export function statementAt(all: Statement[], text: string, position: number): Statement | null {
  const inside = all.find((statement) => statement.start <= position && position <= statement.end);
  if (inside) return inside;
  const before = all.filter((statement) => statement.end < position).at(-1);
  if (before && !text.slice(before.end, position).includes("\n")) return before;
  return all.find((statement) => statement.start > position) ?? before ?? null;
}

/** Whether EXPLAIN takes it, and it is more than a beginning. */
export function isPlanned({ isComplete, isQuery, hasQuery, verb, object }: Statement): boolean {
  return isComplete && (isQuery || (hasQuery && (verb === "INSERT" || (verb === "CREATE" && isSource(object)))));
}

/** Whether it replaces the query of a stream or table, if that exists. */
export function isReplacement({ isReplacement, hasQuery, object }: Statement): boolean {
  return isReplacement && hasQuery && isSource(object);
}

/** Whether the kind of object is that of streams or tables. */
export function isSource(object: string): boolean {
  return object === "STREAM" || object === "TABLE";
}

/** Where a message of the server says that something is wrong: "line 2:15: …", both from 1. */
export function positionOf(message: string): { line: number; column: number } | null {
  const match = /\bline (\d+):(\d+)/.exec(message);
  return match ? { line: Number(match[1]), column: Number(match[2]) } : null;
}

/** A text as SQL writes it: in quotes. */
export function textInSql(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A name as SQL needs it: in back-quotes unless it is a plain one in upper case. */
export function nameInSql(name: string): string {
  return /^[A-Z_][A-Z0-9_]*$/.test(name) ? name : `\`${name.replaceAll("`", "``")}\``;
}

/** A type as SQL writes it. */
export function typeText(schema: SchemaInfo): string {
  if (schema.type === "STRUCT") return `STRUCT<${(schema.fields ?? []).map((field) => `${field.name} ${typeText(field.schema)}`).join(", ")}>`;
  if (schema.type === "ARRAY") return `ARRAY<${schema.memberSchema ? typeText(schema.memberSchema) : "?"}>`;
  if (schema.type === "MAP") return `MAP<STRING, ${schema.memberSchema ? typeText(schema.memberSchema) : "?"}>`;
  if (schema.type === "DECIMAL" && schema.parameters) return `DECIMAL(${Object.values(schema.parameters).join(", ")})`;
  return schema.type;
}
