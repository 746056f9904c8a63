// The records that failed in a query: when, in which step, why, and the record itself.
import type { Column } from "../api/frames.ts";
import { rowsOf } from "../api/rows.ts";
import { cellText } from "../format/cells.ts";
import { count } from "../format/numbers.ts";
import { errorsOf, MAX_FAILURES } from "../sql/errors.ts";
import { useAsked } from "../state/asked.ts";
import { formatRoute } from "../state/route.ts";
import { Grid } from "./grid.tsx";
import { Problem } from "./problem.tsx";

export function Failures({ queryId, minutes }: { queryId: string; minutes: number }) {
  const asked = useAsked(() => rowsOf(errorsOf(queryId, minutes, Date.now())), `${queryId} ${minutes}`, 15_000);
  if (asked.error !== null) return <Problem error={asked.error} />;
  if (asked.value === null) return <p class="hint pad" role="status">Reading the processing log …</p>;
  const { columns, rows } = asked.value;
  if (rows.length === 0) return <p class="hint pad">No record failed in this time.</p>;
  return <Grid columns={columns} rows={rows} linkOf={(row) => placeOf(columns, row)} note={rows.length === MAX_FAILURES ? `the newest ${count(MAX_FAILURES)}` : ""} />;
}

/** The page that shows the bytes of the record that failed; null: the error does not say which it was. */
function placeOf(columns: Column[], row: unknown[]): string | null {
  const [topic, partition, offset] = ["TOPIC", "PARTITION", "OFFSET"].map((name) => row[columns.findIndex((column) => column.name === name)]);
  if (topic == null || partition == null || offset == null) return null;
  return formatRoute("topics", cellText(topic), { partition: cellText(partition), offset: cellText(offset) });
}
