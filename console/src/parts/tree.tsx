// What there is, beside the editor: streams, tables and views with their columns, queries, functions.
import { useState } from "preact/hooks";
import type { RunningQuery, SourceDescription } from "../api/types.ts";
import { middle } from "../format/cells.ts";
import { described, indexes, metadata, running } from "../sql/metadata.ts";
import { nameInSql, typeText } from "../sql/statements.ts";
import { isLog } from "../state/graph.ts";
import { formatRoute } from "../state/route.ts";
import { looksOf, wordOf } from "./state.tsx";

/** The longest name that is shown whole. */
const MOST_CHARACTERS = 23;

interface Props {
  /** Put a text where the cursor is. */
  onInsert: (text: string) => void;
  /** Add a statement. */
  onQuery: (statement: string) => void;
}

export function Tree({ onInsert, onQuery }: Props) {
  const [search, setSearch] = useState("");
  const needle = search.trim().toUpperCase();
  const found = described.value.filter((one) => one.name.includes(needle) || one.fields.some((field) => field.name.includes(needle)));
  const queries = running.value.filter((one) => one.id.toUpperCase().includes(needle));
  const keyed = indexes.value.filter((one) => one.name.includes(needle) || one.table.includes(needle));
  const own = found.filter((one) => !isLog(one.name));
  const groups = [
    ...["Stream", "Table", "View"].map((kind) => [`${kind}s`, own.filter((one) => one.type === kind.toUpperCase())] as const),
    ["Of the server", found.filter((one) => isLog(one.name))] as const,
  ];
  return (
    <nav class="tree" aria-label="Objects">
      <input type="search" placeholder="Find a name" aria-label="Find a name" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
      {groups.map(([title, sources]) => sources.length > 0 && (
        <section key={title}>
          <h2>{title}</h2>
          {sources.map((one) => <Source key={one.name} source={one} isOpen={needle !== "" && !one.name.includes(needle)} onInsert={onInsert} onQuery={onQuery} />)}
        </section>
      ))}
      {keyed.length > 0 && <h2>Indexes</h2>}
      <ul>{keyed.map((one) => <li key={one.name}><a class="name" href={formatRoute("source", one.table)} title={`${one.name} of ${one.table} (${one.columns.join(", ")})`}>{middle(one.name, MOST_CHARACTERS)}</a>{!one.ready && <small class="warn">is built</small>}</li>)}</ul>
      {queries.length > 0 && <h2>Queries</h2>}
      <ul>{queries.map((one) => <Query key={one.id} query={one} />)}</ul>
      <h2>Functions</h2>
      <ul><li><a class="name" href={formatRoute("functions")}>{metadata.value.functions.length} functions</a></li></ul>
    </nav>
  );
}

function Source({ source, isOpen, onInsert, onQuery }: Props & { source: SourceDescription; isOpen: boolean }) {
  const { name, type, fields } = source;
  return (
    <details open={isOpen}>
      <summary title={`${type.toLowerCase()} ${name}`}><span class="name">{middle(name, MOST_CHARACTERS)}</span></summary>
      <ul>
        {fields.map((field) => (
          <li key={field.name}>
            <button class="name" title={`Insert ${field.name}`} onClick={() => onInsert(nameInSql(field.name))}>{field.name}</button>
            <small>{typeText(field.schema).slice(0, 20)}{field.type === "KEY" && " key"}</small>
          </li>
        ))}
        <li><button class="quiet" onClick={() => onQuery(`SELECT * FROM ${nameInSql(name)} EMIT CHANGES;`)}>Query it</button><a href={formatRoute("source", name)}>All about it</a></li>
      </ul>
    </details>
  );
}

function Query({ query }: { query: RunningQuery }) {
  return <li><a class="name" href={formatRoute("query", query.id)} title={query.id}>{middle(query.id, MOST_CHARACTERS)}</a>{query.state !== "RUNNING" && <small class={looksOf(query.state)}>{wordOf(query.state)}</small>}</li>;
}
