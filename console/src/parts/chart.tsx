// Lines over time, with the numbers of now, or of the time under the pointer, below.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { NONE } from "../format/numbers.ts";
import { timeOfDay } from "../format/times.ts";
import { theme } from "../state/theme.ts";

interface Props {
  title: string;
  timesMs: number[];
  series: { label: string; values: (number | null)[] }[];
  format: (value: number | null) => string;
}

const HEIGHT_PX = 170;

export function Chart({ title, timesMs, series, format }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const shape = `${series.length} ${theme.value}`;
  useLayoutEffect(() => {
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const axis = { stroke: colour("--faint"), grid: { stroke: colour("--rule"), width: 1 }, ticks: { show: false } };
    const made = new uPlot(
      {
        width: host.current!.clientWidth,
        height: HEIGHT_PX,
        legend: { show: false },
        cursor: { y: false, points: { size: 6 } },
        scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
        axes: [
          { ...axis, size: 28, values: (_, ticks, __, ___, step) => ticks.map((tick) => timeOfDay(tick * 1000).slice(0, step < 60 ? 8 : 5)), space: 70 },
          { ...axis, values: (_, ticks) => ticks.map((tick) => format(tick)), size: 62 },
        ],
        series: [{}, ...series.map((_, index) => ({ stroke: colour(`--series-${index + 1}`), width: 1.8, spanGaps: false, points: { size: 5 } }))],
        hooks: { setCursor: [(self) => setAt(self.cursor.idx ?? null)] },
      },
      [[], ...series.map(() => [])],
      host.current!,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: host.current!.clientWidth, height: HEIGHT_PX }));
    observer.observe(host.current!);
    return () => (observer.disconnect(), made.destroy());
  }, [shape]);
  useEffect(() => {
    plot.current?.setData([timesMs.map((ms) => ms / 1000), ...series.map((one) => one.values)] as uPlot.AlignedData);
  }, [timesMs, series, shape]);
  const move = (to: number | null) => {
    const time = to === null ? undefined : timesMs[to];
    plot.current?.setCursor({ left: time === undefined ? -10 : plot.current.valToPos(time / 1000, "x"), top: 0 }, false);
    setAt(time === undefined ? null : to);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -12, PageDown: 12, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined || timesMs.length === 0) return;
    event.preventDefault();
    move(Math.min(timesMs.length - 1, Math.max(0, (at ?? timesMs.length - 1) + by)));
  };
  const index = at ?? timesMs.length - 1;
  const said = series.map((one) => `${one.label}: ${format(one.values.at(-1) ?? null)}`).join(", ");
  return (
    <figure class="chart card">
      <h2>{title}</h2>
      <div ref={host} role="img" tabIndex={0} onKeyDown={onKeyDown} onBlur={() => move(null)} aria-label={`${title}, now: ${said}`} />
      <figcaption class="legend">
        {series.map((one, number) => (
          <span key={one.label}>
            <i class={`series-${number}`} />
            {one.label} <b>{index >= 0 ? format(one.values[index] ?? null) : NONE}</b>
          </span>
        ))}
        <span class="hint">{at !== null && timesMs[at] !== undefined ? timeOfDay(timesMs[at]) : "now"}</span>
      </figcaption>
    </figure>
  );
}
