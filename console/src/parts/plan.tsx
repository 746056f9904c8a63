// A query's plan as a drawing, from left to right, with the rates of the steps that are counted.
import { useMemo, useRef } from "preact/hooks";
import type { QueryDetails } from "../api/types.ts";
import { bytes, count, rate } from "../format/numbers.ts";
import { curve, layout } from "../graph/layout.ts";
import { planShape, stepRates, type StepBox, type StepRate } from "../graph/steps.ts";
import { formatRoute, route, setOptions } from "../state/route.ts";

export function Plan({ details, rates }: { details: QueryDetails; rates: Map<string, StepRate> }) {
  const which = route.value.options.plan === "logical" ? "logical" : "physical";
  const shape = planShape(details, which);
  const placed = useMemo(() => layout(shape), [shape.key]);
  return (
    <div class="card">
      <div class="bar">
        <h2>Plan</h2>
        {(["physical", "logical"] as const).map((one) => (
          <button key={one} class="chip" aria-pressed={which === one} onClick={() => setOptions({ plan: one })}>{one}</button>
        ))}
      </div>
      {shape.boxes.length === 0 ? <p class="hint">This plan is not known any more.</p> : (
        <div class="plan" tabIndex={0} role="group" aria-label={`The ${which} plan`}>
          <div class="sheet" style={{ width: `${placed.width}px`, height: `${placed.height}px` }}>
            <svg width={placed.width} height={placed.height} aria-hidden="true">
              {placed.lines.map((line) => <path key={`${line.source} ${line.target}`} class="line" d={curve(line.points)} />)}
            </svg>
            {shape.boxes.map((box) => <Step key={box.id} box={box} at={placed.boxes.get(box.id)!} perS={rates.get(box.id) ?? null} isLogical={which === "logical"} />)}
          </div>
        </div>
      )}
      {which === "physical" && details.subTopologies.map((stage) => (
        <p key={stage.number} class="hint">
          {details.subTopologies.length > 1 && `Sub-topology ${stage.number}: `}{stage.execution}
          {details.subTopologies.length > 1 && stage.state && `; of the state: ${count(stage.state.rows)} rows, ${bytes(stage.state.bytes)}`}
        </p>
      ))}
    </div>
  );
}

function Step({ box, at, perS, isLogical }: { box: StepBox; at: { x: number; y: number; width: number; height: number }; perS: StepRate | null; isLogical: boolean }) {
  const { step } = box;
  return (
    <div class="node step plain" style={{ left: `${at.x}px`, top: `${at.y}px`, width: `${at.width}px`, height: `${at.height}px` }} title={step.state && `State: ${step.state}`}>
      <b>{step.title}{box.stage !== null && box.stage > 0 && <small> of {box.stage}</small>}</b>
      {box.says.map((text, line) => <span key={line} class="said">{step.topic !== undefined && text.endsWith(`: ${step.topic}`) ? <a href={formatRoute("topics", step.topic)}>{text}</a> : text}</span>)}
      <span class="figures">
        {!isLogical && <span title={step.volume && `${count(step.volume.records)} records, ${bytes(step.volume.bytes)} since Spark started`}>{flowOf(perS)}</span>}
        {step.state !== undefined && <span>keeps state</span>}
      </span>
    </div>
  );
}

/** What goes through a step: one rate where as much comes out of it as goes in. */
function flowOf(perS: StepRate | null): string {
  if (perS === null || (perS.in === null && perS.out === null)) return rate(null);
  if (perS.in === null || perS.in === perS.out) return rate(perS.out);
  return `in ${rate(perS.in)}, out ${rate(perS.out)}`;
}

/** Rates of steps between this answer and the one before it. */
export function useRates(details: QueryDetails | null): Map<string, StepRate> {
  const known = useRef<{ before: QueryDetails | null; now: QueryDetails | null }>({ before: null, now: details });
  if (known.current.now !== details) known.current = { before: known.current.now, now: details };
  return details === null ? new Map() : stepRates(known.current.before, details);
}
