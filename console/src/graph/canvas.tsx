// The drawn graph: boxes over lines, which can be moved and made larger, with a map of all where there is more than the window shows.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { rate } from "../format/numbers.ts";
import { looksOfBox, Card } from "./card.tsx";
import { flows, lineKey, pace, thickness } from "./flows.ts";
import { curve, fitted, layoutOfParts, type Placed } from "./layout.ts";
import { neighbour, readingOrder } from "./neighbour.ts";
import { connected, type Box, type Shape } from "./shape.ts";

interface Props {
  shape: Shape;
  culprits: Set<string>;
  search: string;
}

const STEP = 1.25;
/** The scales of a graph that is whole, and the range of those that the user may choose. In smaller ones nobody reads a rate; the map shows the rest. */
const SCALES = [0.8, 0.85, 0.9, 1, 1.1, 1.25];
const LEAST = 0.8;
const MOST = 2;
/** The height of the key below the graph. */
const KEY_PX = 48;
/** So many lines may move: each of them is drawn again and again. */
const MOST_MOVING = 80;

export function Canvas({ shape, culprits, search }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState<number | null>(null);
  const [size, setSize] = useState({ width: 1, height: 1 });
  // only a changed shape is laid out anew, not each change of a figure; another window only moves its parts
  const parts = useMemo(() => layoutOfParts(shape), [shape.key]);
  const { placed, scale: fitting } = useMemo(() => fitted(parts, SCALES, size.width, size.height - KEY_PX), [parts, size.width, size.height]);
  // the Tab key goes as one reads: from column to column, each from its top
  const inOrder = useMemo(() => readingOrder(shape, placed), [shape, placed]);
  const [at, setAt] = useState({ x: 0, y: 0 });
  const [chosen, setChosen] = useState<string | null>(null);
  const related = useMemo(() => (chosen === null ? null : connected(chosen, shape.lines)), [chosen, shape.key]);

  useLayoutEffect(() => {
    const measure = () => setSize({ width: frame.current?.clientWidth ?? 1, height: frame.current?.clientHeight ?? 1 });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(frame.current!);
    return () => observer.disconnect();
  }, []);

  const scale = zoom ?? fitting;
  const resize = (to: number) => setZoom(Math.min(MOST, Math.max(LEAST, to)));
  const needle = search.trim().toLowerCase();
  const wanted = shape.boxes.find((box) => (needle === "" ? culprits.has(box.id) : holds(box, needle))) ?? inOrder[0];
  const centre = (x: number, y: number) => frame.current!.scrollTo(x * scale - size.width / 2, y * scale - size.height / 2);
  useLayoutEffect(() => {
    const box = wanted && placed.boxes.get(wanted.id);
    if (box !== undefined) centre(box.x + box.width / 2, box.y + box.height / 2);
  }, [placed, wanted?.id, fitting]);

  const onKeyDown = (event: KeyboardEvent) => {
    const next = chosen === null ? undefined : neighbour(chosen, event.key, shape, placed);
    if (next === undefined) return;
    event.preventDefault();
    frame.current!.querySelector<HTMLElement>(`[data-id="${CSS.escape(next)}"] a`)?.focus();
  };
  const onWheel = (event: WheelEvent) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    resize(scale * (event.deltaY < 0 ? 1.1 : 1 / 1.1));
  };
  const isFound = (box: Box) =>
    needle === "" && related === null ? null : (related?.has(box.id) ?? true) && (needle === "" || holds(box, needle));
  const flow = flows(shape);
  const isWhole = placed.width * scale <= size.width + 1 && placed.height * scale + KEY_PX <= size.height + 1;
  return (
    <div class="canvas">
      <div
        class="scroll"
        ref={frame}
        onClick={() => setChosen(null)}
        onKeyDown={onKeyDown}
        onWheel={onWheel}
        onPointerDown={hold}
        onScroll={({ currentTarget: { scrollLeft: x, scrollTop: y } }) => setAt({ x, y })}
      >
        <div style={{ width: `${placed.width * scale}px`, height: `${placed.height * scale + KEY_PX}px` }}>
          <div class="sheet" style={{ width: `${placed.width}px`, height: `${placed.height}px`, transform: `scale(${scale})` }}>
            <svg width={placed.width} height={placed.height} aria-hidden="true">
              {placed.lines.map((line) => {
                const path = curve(line.points);
                const isNear = related?.has(line.source) && related.has(line.target);
                const { perS, looks } = flow.get(lineKey(line))!;
                const seconds = placed.lines.length > MOST_MOVING ? null : pace(perS);
                return (
                  <g key={lineKey(line)}>
                    <path d={path} class={`line ${looks}${related === null ? "" : isNear ? " near" : " away"}`} style={{ strokeWidth: thickness(perS) }}><title>{rate(perS)}</title></path>
                    {seconds !== null && <path d={path} class="moving" style={{ strokeWidth: thickness(perS) * 0.5, animationDuration: `${seconds}s` }} />}
                  </g>
                );
              })}
            </svg>
            {inOrder.map((box) => (
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
      <div class="key" aria-hidden="true">
        <span>{[1, 100, 10_000].map((perS) => <svg key={perS} viewBox="0 0 24 8"><path class="line good" d="M2 4H22" style={{ strokeWidth: thickness(perS) }} /></svg>)} 1, 100, 10,000 records/s</span>
        <span><svg viewBox="0 0 24 8"><path class="line warn" d="M2 4H22" style={{ strokeWidth: 4 }} /></svg> waiting over 10 s</span>
        <span><svg viewBox="0 0 24 8"><path class="line bad" d="M2 4H22" style={{ strokeWidth: 4 }} /></svg> over 1 min, or failed</span>
      </div>
      <div class="zoom" role="group" aria-label="Size of the graph">
        {!isWhole && <Overview shape={shape} placed={placed} window={{ x: at.x / scale, y: at.y / scale, width: size.width / scale, height: size.height / scale }} onChoose={centre} />}
        <button onClick={() => resize(scale * STEP)} disabled={scale >= MOST} aria-label="Larger">+</button>
        <button onClick={() => resize(scale / STEP)} disabled={scale <= LEAST} aria-label="Smaller">−</button>
        <button onClick={() => setZoom(null)}>Fit</button>
      </div>
    </div>
  );
}

interface OverviewProps {
  shape: Shape;
  placed: Placed;
  /** What of it the window shows. */
  window: { x: number; y: number; width: number; height: number };
  onChoose: (x: number, y: number) => void;
}

/** All boxes, small, and where the window is; for the mouse, as the arrow keys lead everywhere. */
function Overview({ shape, placed, window, onChoose }: OverviewProps) {
  const choose = (event: PointerEvent & { currentTarget: SVGSVGElement }) => {
    if (event.buttons === 0) return;
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(event.currentTarget.getScreenCTM()!.inverse());
    onChoose(x, y);
  };
  return (
    <svg class="map" aria-hidden="true" viewBox={`0 0 ${placed.width} ${placed.height}`} onPointerDown={choose} onPointerMove={choose}>
      {shape.boxes.map((box) => <rect key={box.id} {...placed.boxes.get(box.id)!} class={`${box.kind.toLowerCase()} ${looksOfBox(box)}`} />)}
      <rect class="window" {...window} />
    </svg>
  );
}

/** Move what is under the pointer with it, from the empty space between boxes. */
function hold(event: PointerEvent & { currentTarget: HTMLDivElement }) {
  const frame = event.currentTarget;
  if (event.pointerType !== "mouse" || event.button !== 0 || (event.target as Element).closest(".node") !== null) return;
  const from = { x: frame.scrollLeft + event.clientX, y: frame.scrollTop + event.clientY };
  const move = ({ clientX, clientY }: PointerEvent) => frame.scrollTo(from.x - clientX, from.y - clientY);
  frame.classList.add("held");
  addEventListener("pointermove", move);
  addEventListener("pointerup", () => (removeEventListener("pointermove", move), frame.classList.remove("held")), { once: true });
}

/** Whether a box stands for something with this text in its name. */
function holds(box: Box, needle: string): boolean {
  return box.nodes.some((node) => node.name.toLowerCase().includes(needle));
}
