// Cells of results as text, and results as CSV and JSON.
import type { Column } from "../api/frames.ts";
import { ExactNumber } from "./json.ts";
import { count } from "./numbers.ts";
import { preciseInstant, TIMES } from "./times.ts";

/** A page with many longer texts would be slow. */
const MOST_SHOWN = 2000;

/** Digits after the point of doubles; of those below 1, digits in all. Sums of doubles are off in the last ones: 76802.73999999995. */
const DOUBLE_DIGITS = 6;

/** A cell's text. */
export function cellText(cell: unknown): string {
  if (cell === null || cell === undefined) return "NULL";
  if (typeof cell === "object" && !(cell instanceof ExactNumber)) return JSON.stringify(cell);
  return String(cell);
}

/** A cell's text with all digits of its type: a DECIMAL(8, 2) is 3.50. */
export function valueText({ type }: Column, cell: unknown): string {
  const scale = Number(/^DECIMAL\(\d+, *(\d+)\)$/.exec(type)?.[1] ?? 0);
  const text = cellText(cell);
  if (typeof cell !== "number" || scale === 0) return text;
  if (text.includes("e")) return cell.toFixed(scale);
  const [whole, part = ""] = text.split(".");
  return `${whole}.${part.padEnd(scale, "0")}`;
}

/** A cell as people read it: times of the engine, and doubles without the errors of their last digits, with at least `digits` after the point. */
export function shownText(column: Column, cell: unknown, digits = 0): string {
  if (typeof cell !== "number") return cellText(cell);
  if (column.isTime || TIMES.includes(column.name)) return preciseInstant(cell);
  if (column.type !== "DOUBLE") return valueText(column, cell);
  const text = Number.isInteger(cell) ? String(cell) : String(Number(Math.abs(cell) < 1 ? cell.toPrecision(DOUBLE_DIGITS) : cell.toFixed(DOUBLE_DIGITS)));
  return text.includes("e") || digitsOf(text) >= digits ? text : cell.toFixed(digits);
}

/** How many digits after the point all doubles of a column have, so that the points are below each other. */
export function digitsIn(column: Column, cells: unknown[]): number {
  return column.type === "DOUBLE" ? Math.min(DOUBLE_DIGITS, Math.max(0, ...cells.map((cell) => digitsOf(shownText(column, cell))))) : 0;
}

function digitsOf(text: string): number {
  return /^-?\d+\.(\d+)$/.exec(text)?.[1]!.length ?? 0;
}

/** The beginning of a text, which is all of most texts. */
export function brief(text: string): string {
  return text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN)}… (${count(text.length)} characters)`;
}

/** A name that is cut in its middle where it has more than `most` characters: its end tells it apart. */
export function middle(name: string, most: number): string {
  const tail = Math.floor(most / 3);
  return name.length <= most ? name : `${name.slice(0, most - tail - 1)}…${name.slice(-tail)}`;
}

/** Compare two cells: NULL first, numbers by value, everything else as text. */
export function compareCells(one: unknown, other: unknown): number {
  if (one === other) return 0;
  if (one === null || one === undefined) return -1;
  if (other === null || other === undefined) return 1;
  const a = Number(one);
  const b = Number(other);
  if (typeof one !== "string" && typeof other !== "string" && !Number.isNaN(a) && !Number.isNaN(b)) return a - b;
  return cellText(one).localeCompare(cellText(other), undefined, { numeric: true });
}

/** CSV as RFC 4180 has it; NULL is empty. A text that a spreadsheet would take for a formula begins with '. */
export function toCsv(columns: Column[], rows: unknown[][]): string {
  const lines = [columns.map(({ name }) => csvText(name)), ...rows.map((row) => row.map((cell, at) => csvText(cell, columns[at])))];
  return lines.map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
}

function csvText(cell: unknown, column?: Column): string {
  if (cell === null || cell === undefined) return "";
  const text = column === undefined ? cellText(cell) : valueText(column, cell);
  return typeof cell === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** JSON: an array with an object for each row. */
export function toJson(columns: Column[], rows: unknown[][]): string {
  return JSON.stringify(rows.map((row) => Object.fromEntries(columns.map((c, i) => [c.name, row[i]]))), null, 2);
}
