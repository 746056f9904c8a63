// A table of any length, of which only the rows in sight are in the page: sort, filter, copy, CSV and JSON.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Column } from "../api/frames.ts";
import { saveFile } from "../format/files.ts";
import { brief, compareCells, digitsIn, shownText, toCsv, toJson, valueText } from "../format/cells.ts";
import { ExactNumber } from "../format/json.ts";
import { count } from "../format/numbers.ts";

const ROW_PX = 28;
const AROUND = 12;

interface Props {
  columns: Column[];
  rows: unknown[][];
  /** Names of the key's columns. */
  keys?: string[];
  /** What is said beside the number of rows. */
  note?: string;
  /** The newest row is wanted first. */
  newestFirst?: boolean;
  /** How cells of a column are shown, by its name. */
  formats?: Record<string, (cell: unknown) => ComponentChildren>;
  /** Whether these are rows of a result, not of a list of the console. */
  isResult?: boolean;
  /** What the rows are, where a page has several tables. */
  label?: string;
  /** Where the first cell of a row leads. */
  linkOf?: (row: unknown[]) => string | null;
}

export function Grid({ columns, rows, keys = [], note = "", newestFirst = false, formats = {}, label = "Rows", isResult = false, linkOf }: Props) {
  const [sort, setSort] = useState<{ column: number; down: boolean } | null>(null);
  const [filter, setFilter] = useState("");
  const [top, setTop] = useState(0);
  const [copied, setCopied] = useState("");
  const [here, setHere] = useState<{ row: number; column: number } | null>(null);
  /** The same at once: a second key may come before the page is drawn again. */
  const latest = useRef(here);
  const frame = useRef<HTMLDivElement>(null);
  const shown = useMemo(() => {
    const needle = filter.toLowerCase();
    const found = needle === "" ? rows.slice() : rows.filter((row) => columns.some((column, at) => shownText(column, row[at]).toLowerCase().includes(needle)));
    if (sort !== null) found.sort((a, b) => compareCells(a[sort.column], b[sort.column]) * (sort.down ? -1 : 1));
    else if (newestFirst) found.reverse();
    return found;
  }, [rows, filter, sort, newestFirst]);
  const height = frame.current?.clientHeight ?? innerHeight;
  const numbers = useMemo(() => columns.map((_, index) => looks(rows.find((row) => row[index] != null)?.[index])), [columns, rows]);
  const digits = useMemo(() => columns.map((column, at) => digitsIn(column, rows.map((row) => row[at]))), [columns, rows]);
  const first = Math.max(0, Math.floor(top / ROW_PX) - AROUND);
  const last = Math.min(shown.length, Math.ceil((top + height) / ROW_PX) + AROUND);
  useEffect(() => {
    if (copied === "") return;
    const timer = setTimeout(() => setCopied(""), 2000);
    return () => clearTimeout(timer);
  }, [copied]);

  const order = (column: number) => setSort(sort?.column !== column ? { column, down: false } : sort.down ? null : { column, down: true });
  const copy = async (text: string, what: string) => {
    await navigator.clipboard.writeText(text);
    setCopied(`Copied ${what}.`);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || shown.length === 0) return;
    const here = latest.current;
    const { row, column } = here ?? { row: first, column: 0 };
    const last = shown.length - 1;
    const page = Math.max(1, Math.floor(height / ROW_PX) - 2);
    const moves: Record<string, [number, number]> = {
      ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1], PageDown: [page, 0], PageUp: [-page, 0],
      Home: [-row, 0], End: [last - row, 0],
    };
    const move = here === null && event.key in moves ? [0, 0] as const : moves[event.key];
    if (move !== undefined) {
      const to = { row: Math.min(last, Math.max(0, row + move[0])), column: Math.min(columns.length - 1, Math.max(0, column + move[1])) };
      setHere((latest.current = to));
      const { scrollTop } = frame.current!;
      // the head covers one row
      const above = Math.min(scrollTop, to.row * ROW_PX);
      frame.current!.scrollTop = Math.max(above, (to.row + 2) * ROW_PX - height + ROW_PX);
    } else if (event.key === "c" && (event.ctrlKey || event.metaKey) && here !== null && getSelection()?.isCollapsed !== false) {
      void copy(valueText(columns[here.column]!, shown[here.row]?.[here.column]), "the cell");
    } else if (event.key === "Enter" && here !== null && linkOf?.(shown[here.row]!) != null) {
      location.hash = linkOf(shown[here.row]!)!;
    } else return;
    event.preventDefault();
  };
  useEffect(() => frame.current?.querySelector("td.here")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [here]);
  return (
    <div class={isResult ? "grid result" : "grid"}>
      <div class="bar">
        <span>{count(shown.length)} {shown.length === 1 ? "row" : "rows"}{note && ` · ${note}`}</span>
        <input type="search" placeholder="Filter" aria-label="Filter rows" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
        <span class="space" />
        <span role="status" class="hint">{copied}</span>
        <button class="quiet" onClick={() => copy(toCsv(columns, shown), "CSV")}>Copy</button>
        <button class="quiet" onClick={() => saveFile("result.csv", "text/csv", toCsv(columns, shown))}>CSV</button>
        <button class="quiet" onClick={() => saveFile("result.json", "application/json", toJson(columns, shown))}>JSON</button>
      </div>
      <div class="scroll" ref={frame} tabIndex={0} role="region" aria-label={label} onKeyDown={onKeyDown} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <table aria-rowcount={shown.length}>
          <thead>
            <tr>
              {columns.map((column, index) => (
                <th key={column.name} scope="col" class={numbers[index]} aria-sort={sort?.column !== index ? "none" : sort.down ? "descending" : "ascending"}>
                  <button onClick={() => order(index)} title={`Sort by ${column.name}`}>
                    {column.name}{(column.isKey || keys.includes(column.name)) && <small> key</small>} {sort?.column === index && (sort.down ? "▾" : "▴")}
                  </button>
                  {column.type && <small>{column.type}</small>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {first > 0 && <tr class="gap"><td colSpan={columns.length} style={{ height: `${first * ROW_PX}px` }} /></tr>}
            {shown.slice(first, last).map((row, index) => (
              <tr key={first + index}>
                {columns.map((column, at) => {
                  const link = at === 0 ? (linkOf?.(row) ?? null) : null;
                  return (
                    <td key={column.name} class={`${numbers[at]}${row[at] == null ? " null" : ""}${here?.row === first + index && here.column === at ? " here" : ""}`} title={brief(valueText(column, row[at]))} onDblClick={() => copy(valueText(column, row[at]), "the cell")}>
                      {link !== null ? <a href={link}>{shownCell(column, row[at], formats, digits[at])}</a> : shownCell(column, row[at], formats, digits[at])}
                    </td>
                  );
                })}
              </tr>
            ))}
            {last < shown.length && <tr class="gap"><td colSpan={columns.length} style={{ height: `${(shown.length - last) * ROW_PX}px` }} /></tr>}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function shownCell(column: Column, cell: unknown, formats: NonNullable<Props["formats"]>, digits = 0): ComponentChildren {
  // a column may be named as what every object has, such as constructor
  if (Object.hasOwn(formats, column.name)) return formats[column.name]!(cell);
  return brief(shownText(column, cell, digits));
}

function looks(cell: unknown): string {
  return typeof cell === "number" || cell instanceof ExactNumber ? "number" : "";
}
