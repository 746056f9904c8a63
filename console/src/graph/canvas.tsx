// The drawn graph: boxes over lines, which can be scrolled and made larger.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Card } from "./card.tsx";
import { layout, type Placed } from "./layout.ts";
import { neighbour } from "./neighbour.ts";
import { connected, type Box, type Shape } from "./shape.ts";

interface Props {
  shape: Shape;
  culprits: Set<string>;
  search: string;
}

const STEP = 1.25;

export function Canvas({ shape, culprits, search }: Props) {
  // only a changed shape is laid out anew, not each change of a figure
  const placed = useMemo(() => layout(shape), [shape.key]);
  const frame = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState<number | null>(null);
  const [fitting, setFitting] = useState(1);
  const [chosen, setChosen] = useState<string | null>(null);
  const related = useMemo(() => (chosen === null ? null : connected(chosen, shape.lines)), [chosen, shape.key]);

  useLayoutEffect(() => {
    const fit = () => {
      const { clientWidth = 1, clientHeight = 1 } = frame.current ?? {};
      // what is smaller, nobody can read
      setFitting(Math.max(0.7, Math.min(1, clientWidth / placed.width, clientHeight / placed.height)));
    };
    fit();
    const observer = new ResizeObserver(fit);
    observer.observe(frame.current!);
    return () => observer.disconnect();
  }, [placed]);

  const scale = zoom ?? fitting;
  const needle = search.trim().toLowerCase();
  const wanted = shape.boxes.find((box) => (needle === "" ? culprits.has(box.id) : holds(box, needle))) ?? leftmost(shape, placed);
  useLayoutEffect(() => {
    const at = wanted && placed.boxes.get(wanted.id);
    const { clientWidth = 0, clientHeight = 0 } = frame.current ?? {};
    if (at === undefined) return;
    frame.current!.scrollTo((at.x + at.width / 2) * scale - clientWidth / 2, (at.y + at.height / 2) * scale - clientHeight / 2);
  }, [placed, wanted?.id, fitting]);

  const onKeyDown = (event: KeyboardEvent) => {
    const next = chosen === null ? undefined : neighbour(chosen, event.key, shape, placed);
    if (next === undefined) return;
    event.preventDefault();
    frame.current!.querySelector<HTMLElement>(`[data-id="${CSS.escape(next)}"] a`)?.focus();
  };
  const isFound = (box: Box) =>
    needle === "" && related === null ? null : (related?.has(box.id) ?? true) && (needle === "" || holds(box, needle));
  return (
    <div class="canvas">
      <div class="scroll" ref={frame} onClick={() => setChosen(null)} onKeyDown={onKeyDown}>
        <div style={{ width: `${placed.width * scale}px`, height: `${placed.height * scale}px` }}>
          <div class="sheet" style={{ width: `${placed.width}px`, height: `${placed.height}px`, transform: `scale(${scale})` }}>
            <svg width={placed.width} height={placed.height} aria-hidden="true">
              <defs>
                <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
                  <path d="M0,0L8,4L0,8z" />
                </marker>
              </defs>
              {placed.lines.map((line) => (
                <path
                  key={`${line.source} ${line.target}`}
                  d={line.path}
                  marker-end="url(#tip)"
                  class={related !== null && related.has(line.source) && related.has(line.target) ? "line near" : "line"}
                />
              ))}
            </svg>
            {shape.boxes.map((box) => (
              <Card
                key={box.id}
                box={box}
                at={placed.boxes.get(box.id)!}
                isCulprit={culprits.has(box.id)}
                isFound={isFound(box)}
                onFocus={() => setChosen(box.id)}
              />
            ))}
          </div>
        </div>
      </div>
      <div class="zoom" role="group" aria-label="Size of the graph">
        <button onClick={() => setZoom(Math.min(2, scale * STEP))} aria-label="Larger">+</button>
        <button onClick={() => setZoom(Math.max(0.2, scale / STEP))} aria-label="Smaller">−</button>
        <button onClick={() => setZoom(null)}>Fit</button>
      </div>
    </div>
  );
}

/** Whether a box stands for something with this text in its name. */
function holds(box: Box, needle: string): boolean {
  return box.nodes.some((node) => node.name.toLowerCase().includes(needle));
}

/** The box where reading begins. */
function leftmost(shape: Shape, placed: Placed): Box | undefined {
  const at = (box: Box) => placed.boxes.get(box.id)!;
  return shape.boxes.reduce<Box | undefined>((best, box) => (best === undefined || at(box).x + at(box).y / 100 < at(best).x + at(best).y / 100 ? box : best), undefined);
}
