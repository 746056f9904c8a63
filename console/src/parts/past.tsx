// What has happened to a query: its starts and failures, and its latest checkpoints.
import type { QueryDetails } from "../api/types.ts";
import { count, span } from "../format/numbers.ts";
import { instant, timeOfDay } from "../format/times.ts";
import { State } from "./state.tsx";

/** How many checkpoints of a sub-topology are listed. */
const LISTED = 12;

export function Transitions({ details }: { details: QueryDetails }) {
  return (
    <div class="card">
      <h2>What happened to it</h2>
      <table class="plain">
        <thead><tr><th scope="col">When</th><th scope="col">Event</th><th scope="col">State from then on</th><th scope="col">Why</th></tr></thead>
        <tbody>
          {details.transitions.toReversed().map((one, index) => (
            <tr key={index}><td>{instant(one.timeMs)}</td><td>{one.event}</td><td><State state={one.state} isPast /></td><td>{one.reason}</td></tr>
          ))}
        </tbody>
      </table>
      <p class="hint">Since the server started, at most the latest 50.</p>
    </div>
  );
}

export function Checkpoints({ details }: { details: QueryDetails }) {
  const stages = details.subTopologies.filter((stage) => stage.checkpoints.length > 0);
  return (
    <div class="card">
      <h2>Checkpoints</h2>
      {stages.length === 0 && <p class="hint">None yet since it was started.</p>}
      {stages.map((stage) => (
        <table class="plain" key={stage.number}>
          {details.subTopologies.length > 1 && <caption>Sub-topology {stage.number}</caption>}
          <thead><tr><th scope="col" class="number">Batch</th><th scope="col">Began</th>{isRealTime(stage) && <th scope="col" class="number">Pause</th>}<th scope="col" class="number">{isRealTime(stage) ? "Ran" : "Took"}</th><th scope="col" class="number">Records</th><th scope="col">Longest parts{isRealTime(stage) && " of the pause"}</th></tr></thead>
          <tbody>
            {stage.checkpoints.slice(-LISTED).toReversed().map((one) => (
              <tr key={one.batch}>
                <td class="number">{count(one.batch)}</td><td>{timeOfDay(one.timeMs)}</td>{isRealTime(stage) && <td class="number">{span((one.pauseMs ?? 0) / 1000)}</td>}<td class="number">{span(one.tookMs / 1000)}</td><td class="number">{count(one.records)}</td>
                <td>{longest(one.partsMs, isRealTime(stage))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ))}
    </div>
  );
}

/** In real time, a batch runs from one checkpoint to the next: only the pause between two of them is lost. */
function isRealTime({ checkpoints }: QueryDetails["subTopologies"][number]): boolean {
  return checkpoints.some((one) => one.pauseMs !== undefined);
}

function longest(parts: Record<string, number>, isPause: boolean): string {
  const beside = ["triggerExecution", ...(isPause ? ["addBatch"] : [])];
  return Object.entries(parts)
    .filter(([name, ms]) => ms > 0 && !beside.includes(name))
    .sort(([, a], [, b]) => b - a)
    .slice(0, 3)
    .map(([name, ms]) => `${name} ${span(ms / 1000)}`)
    .join(", ");
}
