// A script as statements, by the rules of grammar/lexer.py: `;` ends one, unless it is in a string, a quoted name,
// a comment or the code of a function.

export interface Statement {
  /** Where its first word begins, and where it ends, after its `;`. */
  from: number;
  to: number;
  text: string;
  /** It ends with `;`. */
  isComplete: boolean;
}

const TOKEN =
  /(?<space>[\s\ufeff]+)|(?<comment>--(?:@[^\r\n]*|[^@][^\r\n]*)?|\/\*[\s\S]*?\*\/)|(?<end>;)|(?<piece>'[^']*(?:''[^']*)*'|"[^"]*(?:""[^"]*)*"|`[^`]*(?:``[^`]*)*`|\$\$[\s\S]*?\$\$)|(?<open>(?:'|"|`|\/\*|\$\$)[\s\S]*)|(?<other>[A-Za-z0-9_@.]+|[\s\S])/g;

/** The statements of a text, in their order. */
export function split(text: string): Statement[] {
  const found: Statement[] = [];
  let from: number | null = null;
  let to = 0;
  for (const match of text.matchAll(TOKEN)) {
    const { space, comment, end, open } = match.groups!;
    if (space !== undefined || comment !== undefined || (open?.startsWith("/*") && from === null)) continue;
    if (end === undefined) {
      from ??= match.index;
      to = match.index + match[0].length;
    } else {
      if (from !== null) add(match.index + 1, true);
      from = null;
    }
  }
  if (from !== null) add(to, false);
  return found;

  function add(end: number, isComplete: boolean): void {
    const trimmed = text.slice(from!, end).trimEnd();
    found.push({ from: from!, to: from! + trimmed.length, text: trimmed, isComplete });
  }
}

/** The statement at a position: the one that it is in, or after whose `;` it is on the same line; else the next. */
export function statementAt(text: string, position: number): Statement | null {
  const all = split(text);
  const inside = all.find((statement) => statement.from <= position && position <= statement.to);
  if (inside) return inside;
  const before = all.filter((statement) => statement.to < position).at(-1);
  if (before && !text.slice(before.to, position).includes("\n")) return before;
  return all.find((statement) => statement.from > position) ?? before ?? null;
}

export type Kind = "SELECT" | "PRINT" | "SET" | "UNSET" | "OTHER";

/** Who handles a statement: /query-stream has SELECT and PRINT, this page has SET and UNSET. */
export function kindOf(text: string): Kind {
  const word = /^[A-Za-z]+/.exec(text)?.[0].toUpperCase() ?? "";
  if (word === "SELECT" || word === "WITH") return "SELECT";
  return word === "PRINT" || word === "SET" || word === "UNSET" ? word : "OTHER";
}

/** Whether a SELECT goes on until it is stopped. */
export function isPush(text: string): boolean {
  return /\bEMIT\s+(CHANGES|FINAL)\b/i.test(text.replace(/'[^']*(?:''[^']*)*'|--[^\r\n]*|\/\*[\s\S]*?\*\//g, " "));
}

/** The name and value of SET, or the name of UNSET. */
export function setting(text: string): { name: string; value: string | null } | null {
  const set = /^SET\s+'((?:[^']|'')*)'\s*=\s*'((?:[^']|'')*)'\s*;?$/i.exec(text);
  if (set) return { name: unquote(set[1]!), value: unquote(set[2]!) };
  const unset = /^UNSET\s+'((?:[^']|'')*)'\s*;?$/i.exec(text);
  return unset ? { name: unquote(unset[1]!), value: null } : null;
}

function unquote(text: string): string {
  return text.replaceAll("''", "'");
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
