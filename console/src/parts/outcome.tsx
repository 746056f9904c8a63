// What came of a statement: rows, lines, tables of answers, or an error.
import { useState } from "preact/hooks";
import type { Entity } from "../api/types.ts";
import { brief } from "../format/cells.ts";
import { count, span } from "../format/numbers.ts";
import { timeOfDay } from "../format/times.ts";
import { type Branch, explained } from "../sql/explained.ts";
import { limitOf, type Outcome } from "../sql/runner.ts";
import { formatRoute } from "../state/route.ts";
import { Grid } from "./grid.tsx";
import { Problem } from "./problem.tsx";
import { ResultChart } from "./result-chart.tsx";

interface Props {
  outcome: Outcome;
  /** Changes when the outcome does. */
  tick: number;
}

export function OutcomeView({ outcome }: Props) {
  const { live, columns, lines, entities, message, error, startedMs, endedMs, statement } = outcome;
  const [isChart, showChart] = useState(false);
  const rows = live?.rows() ?? [];
  const note = live === null ? "" : live.isByKey
    ? `the latest of each key; ${count(live.came)} changes came`
    : live.came > rows.length ? `the ${live.isNewestFirst ? "latest" : "first"} ${count(rows.length)} of ${count(live.came)}` : "";
  return (
    <article class="outcome" aria-label="Result">
      <header>
        <code title={statement.text}>{statement.text.replace(/\s+/g, " ").slice(0, 120)}</code>
        <span class="space" />
        <span class="hint">{timeOfDay(startedMs)}{endedMs !== null && `, ${span((endedMs - startedMs) / 1000)}`}</span>
        {live !== null && <button class="quiet" aria-pressed={isChart} onClick={() => showChart(!isChart)}>Chart</button>}
        {endedMs === null && (outcome.isWaiting ? <span class="state idle">waits for the statement before it</span> : <span class="state good">{stateOf(outcome)}</span>)}
      </header>
      {error !== null && <Problem error={error} />}
      {live !== null && isChart && <ResultChart columns={columns} rows={rows} keys={live.isByKey ? outcome.keys : []} />}
      {live !== null && !isChart && <Grid columns={columns} rows={rows} keys={outcome.keys} note={note} newestFirst={live.isNewestFirst} isResult />}
      {lines.length > 0 && <pre class="lines" tabIndex={0}>{lines.map(brief).join("\n")}</pre>}
      {entities.map((entity, index) => <EntityView key={index} entity={entity} />)}
      {message !== "" && <p class="message">{message}</p>}
    </article>
  );
}

function EntityView({ entity }: { entity: Entity }) {
  const tree = explained(entity);
  const list = tree === null ? listOf(entity) : null;
  const said = entity.commandStatus?.message ?? entity.message;
  const queryId = entity.commandStatus?.queryId;
  return (
    <>
      {entity.warnings.map((warning) => <p class="banner warn" key={warning.message}>{warning.message}</p>)}
      {said !== undefined && (
        <p class="message">
          {entity.commandStatus && <span class={`state ${entity.commandStatus.status === "ERROR" ? "bad" : "good"}`}>{entity.commandStatus.status.toLowerCase()}</span>}
          {" "}{queryId ? linked(said, queryId) : said}
        </p>
      )}
      {list !== null && <Grid columns={list.names.map((name) => ({ name, type: "" }))} rows={list.rows} />}
      {tree !== null && <ul class="explained" tabIndex={0}><BranchView branch={tree} /></ul>}
      {entity.queryDescription !== undefined && <pre class="lines" tabIndex={0}>{entity.queryDescription.executionPlan}</pre>}
      {entity.sourceDescription !== undefined && (
        <p class="message">
          {entity.sourceDescription.type === "VIEW" ? "A view, which has no topic." : <>Topic {entity.sourceDescription.topic}, {entity.sourceDescription.keyFormat} and {entity.sourceDescription.valueFormat}.</>}{" "}
          <a href={formatRoute("source", entity.sourceDescription.name)}>All about {entity.sourceDescription.name}</a>
        </p>
      )}
      {said === undefined && list === null && tree === null && !entity.queryDescription && !entity.sourceDescription && (
        <pre class="lines" tabIndex={0}>{JSON.stringify({ ...entity, statementText: undefined }, null, 2)}</pre>
      )}
    </>
  );
}

/** A line of a tree, and what is below it. */
function BranchView({ branch: { label, below } }: { branch: Branch }) {
  return <li>{label}{below.length > 0 && <ul>{below.map((one, index) => <BranchView key={index} branch={one} />)}</ul>}</li>;
}

/** How far a query is that is not done: one with a LIMIT goes on until so many rows have come. */
function stateOf({ statement, live, lines }: Outcome): string {
  const limit = limitOf(statement.text);
  const came = live?.came ?? lines.filter((line) => line.startsWith("rowtime:")).length;
  return limit === null || came === 0 ? "running" : `${count(came)} of ${count(limit)}, waits for more`;
}

/** A message with the id of a query as a link to its page. */
function linked(said: string, queryId: string) {
  const [before, ...after] = said.split(queryId);
  const link = <a href={formatRoute("query", queryId)}>{queryId}</a>;
  return after.length === 0 ? <>{said} {link}</> : <>{before}{link}{after.join(queryId)}</>;
}

/** An answer that is a list, as a table: the members of its objects that are texts and numbers. */
function listOf(entity: Entity): { names: string[]; rows: unknown[][] } | null {
  const found = entity.sourceDescription?.fields.map((field) => ({ column: field.name, type: field.schema.type, key: field.type ?? "" }))
    ?? Object.entries(entity).find(([name, value]) => name !== "warnings" && Array.isArray(value) && value.every((one) => typeof one === "object"))?.[1] as object[] | undefined;
  if (found === undefined) return null;
  const names = [...new Set(found.flatMap((one) => Object.keys(one)))];
  return { names, rows: found.map((one) => names.map((name) => (one as Record<string, unknown>)[name] ?? null)) };
}
