// How often something took how long.
import type { ComponentChildren } from "preact";
import type { Histogram } from "../api/types.ts";
import { classes, within } from "../format/histogram.ts";
import { count, span } from "../format/numbers.ts";

export function Times({ title, times, children }: { title: string; times: Histogram; children?: ComponentChildren }) {
  const shown = classes(times);
  const most = Math.max(1, ...shown.map((one) => one.count));
  return (
    <figure class="card bars">
      <h2>{title}</h2>
      {shown.length === 0 ? <p class="hint">None since Spark started.</p> : (
        <>
          <p class="hint">p50 {span(within(times, 0.5))}, p95 {span(within(times, 0.95))}, p99 {span(within(times, 0.99))}; since Spark started.</p>
          <table>
            <tbody>
              {shown.map((one) => (
                <tr key={one.label}>
                  <th scope="row">{one.label}</th>
                  <td><i style={{ width: `${(one.count / most) * 100}%` }} /></td>
                  <td class="number">{count(one.count)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {children}
        </>
      )}
    </figure>
  );
}
