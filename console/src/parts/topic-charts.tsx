// What arrives in the topic of a stream or table, and how much is there, since the console was opened.
import { rate, short } from "../format/numbers.ts";
import { samples } from "../state/graph.ts";
import { Chart } from "./chart.tsx";

export function TopicCharts({ topic }: { topic: string }) {
  const past = samples.value.map(({ timeMs, topics }) => ({ timeMs, of: topics.get(topic) }));
  if (past.length < 2 || past.at(-1)!.of === undefined) return null;
  const timesMs = past.map((one) => one.timeMs);
  return (
    <div class="charts">
      <Chart title="Records per second" timesMs={timesMs} format={rate} series={[{ label: "arrive in its topic", values: past.map(({ of }) => of?.arrivingPerS ?? null) }]} />
      <Chart title="Records" timesMs={timesMs} format={short} series={[{ label: "in its topic", values: past.map(({ of }) => of?.records ?? null) }]} />
    </div>
  );
}
