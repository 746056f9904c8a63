// What may follow the text before the cursor: the shell's rules (shell/prompt/completion.py) for the editor.
import type { RoleName } from "../api/types.ts";
import { isEnough } from "../state/roles.ts";
import { isSource } from "./statements.ts";
import words from "./words.json";

export interface Metadata {
  /** Source -> names of its columns. */
  sources: Record<string, string[]>;
  tables: string[];
  views: string[];
  indexes: string[];
  functions: string[];
  queries: string[];
  topics: string[];
  properties: string[];
}

export interface Offer {
  label: string;
  kind: "keyword" | "source" | "column" | "function" | "query" | "topic" | "property" | "type" | "format";
  /** Text to insert in its place. */
  text?: string;
}

/** Beginning or short name of a statement -> the least role that may run it. */
const roles = words.roles as Record<string, RoleName>;

const TOKEN = /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*(?:'|$)|`(?:[^`]|``)*(?:`|$)|[A-Za-z_0-9@]+|\S/g;

/** What may follow; the word that is being typed is at the end of `text`, and not looked at. Statements are those that `role` may run. */
export function offers(text: string, metadata: Metadata, role: RoleName = "admin"): Offer[] {
  const tokens = (text.match(TOKEN) ?? []).filter((token) => !/^(--|\/\*)/.test(token));
  const last = tokens.at(-1) ?? "";
  if (last.startsWith("'") && !(last.length > 1 && last.endsWith("'"))) return inQuotes(tokens, metadata);
  const before = /[A-Za-z_0-9@]$/.test(text) ? tokens.slice(0, -1) : tokens;
  const start = before.lastIndexOf(";") + 1;
  const given = before.slice(start);
  const possible = after(given.map((token) => token.toUpperCase()), given, metadata);
  const found = given.length > 0 ? possible : possible.filter((offer) => isEnough(role, roles[offer.label] ?? "developer"));
  const seen = new Set<string>();
  return found.filter((offer) => !seen.has(offer.label) && seen.add(offer.label));
}

function after(upper: string[], given: string[], metadata: Metadata): Offer[] {
  const sources = Object.keys(metadata.sources);
  const [first = "", second = ""] = upper;
  const last = upper.at(-1);
  if (last === undefined) {
    return [
      ...all("keyword", words.starts),
      ...Object.entries(words.skeletons).map(([label, text]): Offer => ({ label, kind: "keyword", text })),
    ];
  }
  if (["SHOW", "LIST"].includes(first)) return all("keyword", upper.length === 1 ? words.shown : ["EXTENDED"]);
  if (first === "DESCRIBE" && upper.length === 1) {
    return [...all("source", sources), ...all("keyword", ["FUNCTION", "STREAMS", "TABLES", "CONNECTOR"])];
  }
  if (first === "DESCRIBE") return second === "FUNCTION" ? all("function", metadata.functions) : all("keyword", ["EXTENDED"]);
  if (["TERMINATE", "PAUSE", "RESUME"].includes(first)) return [...all("query", metadata.queries), ...all("keyword", ["ALL"])];
  if (first === "EXPLAIN" && upper.length === 1) return [...all("query", metadata.queries), ...all("keyword", ["SELECT", "CREATE STREAM", "CREATE TABLE"])];
  if (first === "PRINT") {
    return upper.length === 1 ? all("topic", metadata.topics.map(topicInSql)) : all("keyword", ["FROM BEGINNING", "INTERVAL", "LIMIT"]);
  }
  if (["SET", "UNSET"].includes(first)) return all("property", metadata.properties.map((name) => `'${name}'`));
  if (["DROP", "ALTER"].includes(first)) {
    if (upper.length === 1) return all("keyword", first === "DROP" ? ["STREAM", "TABLE", "VIEW", "INDEX", "SINK", "TYPE", "CONNECTOR"] : ["STREAM", "TABLE"]);
    if (upper.length === 2) return [...all("source", ofKind(second, metadata)), ...all("keyword", ["IF EXISTS"])];
    return isSource(second) ? all("keyword", ["DELETE TOPIC"]) : [];
  }
  if (["FROM", "JOIN", "INTO"].includes(last)) return all("source", sources);
  if (first === "INSERT" && upper.length === 1) return all("keyword", ["INTO"]);
  if (first === "INSERT" && upper.length === 3) return all("keyword", ["VALUES (", "SELECT", "("]);
  if (first === "INSERT" && upper[3] === "(" && !upper.includes(")")) return all("column", metadata.sources[sourceName(given[2]!)] ?? []);
  if (last === "WITH" || insideWith(upper)) return all("property", words.properties);
  if (last === "EMIT") return all("keyword", ["CHANGES", "FINAL"]);
  if (last === "GROUP" || last === "PARTITION") return all("keyword", ["BY"]);
  if (last === "WINDOW") return all("keyword", ["TUMBLING (", "HOPPING (", "SESSION (", "CUMULATIVE ("]);
  if (first === "CREATE" && !upper.includes("AS") && upper.includes("(")) {
    return [...all("type", words.types), ...all("keyword", ["KEY", "PRIMARY KEY", "HEADERS"])];
  }
  if (first === "CREATE" && upper.length === 1) return all("keyword", ["STREAM", "TABLE", "OR REPLACE", "SOURCE", "VIEW", "INDEX", "SINK", "TYPE"]);
  if (first === "CREATE" && !upper.includes("SELECT")) return all("keyword", ["AS SELECT", "WITH (", "IF NOT EXISTS"]);
  return inQuery(upper, given, metadata);
}

/** The names that DROP and ALTER may have after a kind of object. */
function ofKind(kind: string, { sources, tables, views, indexes }: Metadata): string[] {
  const named: Record<string, string[]> = { TABLE: tables, VIEW: views, INDEX: indexes };
  const others = new Set([...tables, ...views]);
  return named[kind] ?? (kind === "STREAM" ? Object.keys(sources).filter((name) => !others.has(name)) : []);
}

/** Inside a SELECT: columns of its sources, functions, clauses. */
function inQuery(upper: string[], given: string[], metadata: Metadata): Offer[] {
  const aliases = new Map<string, string>();
  for (let i = 0; i + 1 < upper.length; i++) {
    if (upper[i] !== "FROM" && upper[i] !== "JOIN") continue;
    const source = sourceName(given[i + 1]!);
    aliases.set(source.toUpperCase(), source);
    const alias = upper[i + 2] === "AS" ? upper[i + 3] : upper[i + 2];
    if (alias !== undefined && /^[A-Z_]\w*$/.test(alias) && !words.keywords.includes(alias)) aliases.set(alias, source);
  }
  if (upper.at(-1) === "." && upper.length > 1) {
    return all("column", metadata.sources[aliases.get(upper.at(-2)!) ?? sourceName(given.at(-2)!)] ?? []);
  }
  const named = [...new Set(aliases.values())].flatMap((source) => metadata.sources[source] ?? []);
  const columns = named.length > 0 ? named : Object.values(metadata.sources).flat();
  return [
    ...all("column", columns),
    ...all("keyword", words.clauses),
    ...metadata.functions.map((name): Offer => ({ label: name, kind: "function", text: `${name}(` })),
    ...all("keyword", words.keywords),
  ];
}

/** Inside an open string: topics, properties and formats. */
function inQuotes(tokens: string[], metadata: Metadata): Offer[] {
  const [last, before, first] = [tokens.at(-2)?.toUpperCase(), tokens.at(-3)?.toUpperCase(), tokens[0]?.toUpperCase()];
  if (last === "PRINT") return all("topic", metadata.topics);
  if (last === "SET" || last === "UNSET" || (first === "SET" && tokens.length === 2)) return all("property", metadata.properties);
  if (last === "=" && before === "KAFKA_TOPIC") return all("topic", metadata.topics);
  if (last === "=" && before?.endsWith("FORMAT")) return all("format", words.formats);
  return [];
}

function insideWith(upper: string[]): boolean {
  let depth = 0;
  for (let i = upper.length - 1; i > 0; i--) {
    if (upper[i] === ")") depth++;
    else if (upper[i] === "(") {
      if (depth === 0) return upper[i - 1] === "WITH" && ["(", ","].includes(upper.at(-1)!);
      depth--;
    }
  }
  return false;
}

function all(kind: Offer["kind"], names: readonly string[]): Offer[] {
  return names.map((label) => ({ label, kind }));
}

function sourceName(token: string): string {
  return token.startsWith("`") ? token.replaceAll("`", "") : token.toUpperCase();
}

function topicInSql(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `'${name}'`;
}
