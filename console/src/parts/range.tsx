// How far back charts go; in the URL.
import { route, setOptions } from "../state/route.ts";

const RANGES = [["15", "15 min"], ["60", "1 h"], ["120", "2 h"], ["720", "12 h"]] as const;

/** How far back, minutes; `otherwise`, if the user has not chosen. */
export function rangeMinutes(otherwise = "15"): number {
  return Number(RANGES.find(([minutes]) => minutes === route.value.options.range)?.[0] ?? otherwise);
}

export function Range({ otherwise }: { otherwise?: string }) {
  return (
    <label>
      <span class="hidden">Time shown</span>
      <select value={String(rangeMinutes(otherwise))} onChange={(event) => setOptions({ range: event.currentTarget.value })}>
        {RANGES.map(([minutes, label]) => <option key={minutes} value={minutes}>{label}</option>)}
      </select>
    </label>
  );
}
