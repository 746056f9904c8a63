// What of a result can be drawn: bars of the keys, or lines over time.
import type { Column } from "../api/frames.ts";
import { shownText } from "../format/cells.ts";
import { TIMES } from "../format/times.ts";

/** How many bars, and how many lines, are drawn at most. */
export const MAX_BARS = 30;
export const MAX_LINES = 4;

const NUMBER = /^(INTEGER|BIGINT|DOUBLE|DECIMAL)/;
const PLACES = ["ROWPARTITION", "ROWOFFSET", ...TIMES];

/** Where the columns are whose numbers can be drawn. */
export function drawn(columns: Column[], keys: string[]): number[] {
  return columns.flatMap(({ name, type }, at) => (NUMBER.test(type) && !keys.includes(name) && !PLACES.includes(name) ? [at] : []));
}

/** The rows with the largest numbers in a column: the label of the key, and the number. */
export function bars(columns: Column[], keys: string[], rows: unknown[][], at: number): { label: string; value: number }[] {
  const labels = columns.flatMap(({ name }, index) => (keys.includes(name) ? [index] : []));
  return rows
    .map((row) => ({ label: labels.map((index) => shownText(columns[index]!, row[index])).join(", "), value: Number(row[at] ?? NaN) }))
    .filter((one) => !Number.isNaN(one.value))
    .sort((a, b) => b.value - a.value)
    .slice(0, MAX_BARS);
}

/** Numbers in the order of their time; null: the result has no time. */
export function lines(columns: Column[], rows: unknown[][], drawnAt: number[]): { timesMs: number[]; series: { label: string; values: (number | null)[] }[] } | null {
  const time = columns.findIndex(({ name }) => TIMES.includes(name));
  if (time < 0) return null;
  const sorted = rows.filter((row) => typeof row[time] === "number").sort((a, b) => (a[time] as number) - (b[time] as number));
  const series = drawnAt.slice(0, MAX_LINES).map((at) => ({
    label: columns[at]!.name,
    values: sorted.map((row) => (row[at] === null || row[at] === undefined ? null : Number(row[at]))),
  }));
  return { timesMs: sorted.map((row) => row[time] as number), series };
}
