// The records that failed in queries: when, in which step, why, and the record itself.
import { useState } from "preact/hooks";
import { run } from "../api/client.ts";
import { rowsOf } from "../api/rows.ts";
import { brief, cellText } from "../format/cells.ts";
import { count } from "../format/numbers.ts";
import { preciseInstant } from "../format/times.ts";
import { errorsOf, MAX_FAILURES, statementThatKeeps } from "../sql/errors.ts";
import { useAsked } from "../state/asked.ts";
import { refusalOfAll } from "../state/rights.ts";
import { formatRoute } from "../state/route.ts";
import { Problem } from "./problem.tsx";

interface Props {
  /** At least one. */
  queryIds: string[];
  minutes: number;
  /** How many there are as far as the server has counted: if that changes, they are read again. */
  counted: number;
}

export function Failures({ queryIds, minutes, counted }: Props) {
  const asked = useAsked(() => rowsOf(errorsOf(queryIds, minutes, Date.now())), `${queryIds} ${minutes} ${counted}`, 60_000);
  const [search, setSearch] = useState("");
  const keeping = statementThatKeeps(asked.error);
  if (keeping !== null) return <NotKept statement={keeping} onKept={asked.again} />;
  if (asked.error !== null) return <Problem error={asked.error} />;
  if (asked.value === null) return <p class="hint pad" role="status">Reading the processing log …</p>;
  const { columns, rows } = asked.value;
  const all = rows.map((row) => Object.fromEntries(columns.map(({ name }, at) => [name, row[at]])) as Failure);
  if (all.length === 0) return <p class="hint pad">No record failed in this time.</p>;
  const shown = all.filter((one) => Object.values(one).some((cell) => cellText(cell).toLowerCase().includes(search.toLowerCase())));
  return (
    <>
      <div class="bar">
        <span>{count(shown.length)} {shown.length === 1 ? "record" : "records"}{rows.length === MAX_FAILURES && `, the newest ${count(MAX_FAILURES)}`}</span>
        <input type="search" placeholder="Filter" aria-label="Filter failed records" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
      </div>
      <div class="failures">
        <table class="plain">
          <thead><tr>{["When", "Query", "Record", "What failed, and why"].map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>
          <tbody>
            {shown.map((one, at) => (
              <tr key={at}>
                <td>{preciseInstant(Date.parse(`${cellText(one.TIME)}Z`))}</td>
                <td><a href={formatRoute("query", cellText(one.QUERY), { tab: "errors" })}>{cellText(one.QUERY)}</a></td>
                <td><Place of={one} /></td>
                <td>
                  {one.MESSAGE != null && <div>{cellText(one.MESSAGE)}</div>}
                  {one.CAUSE != null && one.CAUSE !== one.MESSAGE && <div>{cellText(one.CAUSE)}</div>}
                  <small class="hint">{[one.STAGE, one.STEP].filter((part) => part != null).map(cellText).join(", ").toLowerCase()}{one.REPLAYED === true && "; it was replayed after that"}</small>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** A row of ERRORS OF, with the query. */
type Failure = Partial<Record<"TIME" | "QUERY" | "STAGE" | "STEP" | "TOPIC" | "PARTITION" | "OFFSET" | "MESSAGE" | "CAUSE" | "RECORD" | "REPLAYED", unknown>>;

/** Where the record is, as a link to its bytes; the row itself where the error does not say which record it was. */
function Place({ of: { TOPIC, PARTITION, OFFSET, RECORD } }: { of: Failure }) {
  if (TOPIC != null && PARTITION != null && OFFSET != null) {
    return <a href={formatRoute("topics", cellText(TOPIC), { partition: cellText(PARTITION), offset: cellText(OFFSET) })}>{cellText(TOPIC)} {cellText(PARTITION)}/{cellText(OFFSET)}</a>;
  }
  return RECORD == null ? <span class="hint">not known</span> : <details><summary>its row</summary><pre>{brief(cellText(RECORD))}</pre></details>;
}

/** What to do on a server that only counts. */
function NotKept({ statement, onKept }: { statement: string; onKept: () => void }) {
  const [problem, setProblem] = useState<unknown>(null);
  const refused = refusalOfAll("developer");
  return (
    <div class="pad" role="status">
      <p>This server counts the records that fail, but does not keep them. This statement keeps from now on when, where and why each one failed:</p>
      <pre class="lines" tabIndex={0}>{statement}</pre>
      <button disabled={refused !== null} title={refused ?? undefined} onClick={() => void run(statement).then(onKept, setProblem)}>Keep failed records</button>
      {problem !== null && <Problem error={problem} />}
    </div>
  );
}
