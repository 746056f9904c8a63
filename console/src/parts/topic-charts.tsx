// What arrives in a topic, and how much is there, over the last hours: of the topics of streams and tables.
import { get } from "../api/client.ts";
import type { MetricsHistory } from "../api/types.ts";
import { rate, short } from "../format/numbers.ts";
import { useAsked } from "../state/asked.ts";
import { Chart } from "./chart.tsx";
import { Range, rangeMinutes } from "./range.tsx";

export function TopicCharts({ topic }: { topic: string }) {
  const minutes = rangeMinutes();
  const history = useAsked(() => get<MetricsHistory>(`metrics/history?minutes=${minutes}&topic=${encodeURIComponent(topic)}`), `${topic} ${minutes}`, 5_000);
  const series = history.value?.topics[topic];
  if (history.value === null || series === undefined || history.value.timesMs.length < 2) return null;
  const { timesMs } = history.value;
  return (
    <>
      <header class="bar"><h2>The last</h2><Range /></header>
      <div class="charts">
        <Chart title="Records per second" timesMs={timesMs} format={rate} series={[{ label: "arrive in its topic", values: series.arrivingPerS }]} />
        <Chart title="Records" timesMs={timesMs} format={short} series={[{ label: "in its topic", values: series.records }]} />
      </div>
    </>
  );
}
