// The records that failed in a query: when, in which step, why, and the record itself.
import { useState } from "preact/hooks";
import { run } from "../api/client.ts";
import type { Column } from "../api/frames.ts";
import { rowsOf } from "../api/rows.ts";
import { cellText } from "../format/cells.ts";
import { count } from "../format/numbers.ts";
import { preciseInstant } from "../format/times.ts";
import { errorsOf, MAX_FAILURES, statementThatKeeps } from "../sql/errors.ts";
import { useAsked } from "../state/asked.ts";
import { refusalOfAll } from "../state/rights.ts";
import { formatRoute } from "../state/route.ts";
import { Grid } from "./grid.tsx";
import { Problem } from "./problem.tsx";

export function Failures({ queryId, minutes }: { queryId: string; minutes: number }) {
  const asked = useAsked(() => rowsOf(errorsOf(queryId, minutes, Date.now())), `${queryId} ${minutes}`, 15_000);
  const keeping = statementThatKeeps(asked.error);
  if (keeping !== null) return <NotKept statement={keeping} onKept={asked.again} />;
  if (asked.error !== null) return <Problem error={asked.error} />;
  if (asked.value === null) return <p class="hint pad" role="status">Reading the processing log …</p>;
  const { columns, rows } = asked.value;
  if (rows.length === 0) return <p class="hint pad">No record failed in this time.</p>;
  return (
    <>
      <p class="hint pad">The time of an error leads to the bytes of the record, where the error tells which it was.</p>
      <Grid columns={columns} rows={rows} formats={{ TIME: (cell) => preciseInstant(Date.parse(`${cellText(cell)}Z`)) }} linkOf={(row) => placeOf(columns, row)} note={rows.length === MAX_FAILURES ? `the newest ${count(MAX_FAILURES)}` : ""} />
    </>
  );
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

/** The page that shows the bytes of the record that failed; null: the error does not say which it was. */
function placeOf(columns: Column[], row: unknown[]): string | null {
  const [topic, partition, offset] = ["TOPIC", "PARTITION", "OFFSET"].map((name) => row[columns.findIndex((column) => column.name === name)]);
  if (topic == null || partition == null || offset == null) return null;
  return formatRoute("topics", cellText(topic), { partition: cellText(partition), offset: cellText(offset) });
}
