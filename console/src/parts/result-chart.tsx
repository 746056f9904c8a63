// The numbers of a result: bars of the latest of each key, or lines over time.
import { useState } from "preact/hooks";
import type { Column } from "../api/frames.ts";
import { count, short } from "../format/numbers.ts";
import { bars, drawn, lines, MAX_BARS } from "../sql/charted.ts";
import { Chart } from "./chart.tsx";

interface Props {
  columns: Column[];
  rows: unknown[][];
  /** Names of the key's columns; empty: each row is one of a stream. */
  keys: string[];
}

export function ResultChart({ columns, rows, keys }: Props) {
  const numbers = drawn(columns, keys);
  const [chosen, choose] = useState<number | null>(null);
  const at = chosen ?? numbers[0];
  if (at === undefined) return <p class="hint pad">No column of the result is a number.</p>;
  if (keys.length === 0) {
    const found = lines(columns, rows, numbers);
    return found === null ? <p class="hint pad">Add ROWTIME to the SELECT to see its numbers over time.</p> : <Chart title="Over time" timesMs={found.timesMs} series={found.series} format={short} />;
  }
  const shown = bars(columns, keys, rows, at);
  const most = Math.max(1, ...shown.map((one) => Math.abs(one.value)));
  return (
    <figure class="bars">
      <div class="bar">
        <label>
          Column{" "}
          <select value={at} onChange={(event) => choose(Number(event.currentTarget.value))}>
            {numbers.map((index) => <option key={index} value={index}>{columns[index]!.name}</option>)}
          </select>
        </label>
        {rows.length > MAX_BARS && <span class="hint">the largest {MAX_BARS} of {count(rows.length)}</span>}
      </div>
      <table>
        <tbody>
          {shown.map((one) => (
            <tr key={one.label}>
              <th scope="row">{one.label}</th>
              <td><i style={{ width: `${(Math.abs(one.value) / most) * 100}%` }} class={one.value < 0 ? "below" : ""} /></td>
              <td class="number">{short(one.value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
