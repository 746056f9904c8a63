// A query's plan as a drawing: its steps as boxes, and how much flows through those that are counted.
import type { PlanStep, QueryDetails } from "../api/types.ts";
import type { Box, Line, Shape } from "./shape.ts";

export interface StepBox extends Box {
  says: string[];
  step: PlanStep;
  /** Of which sub-topology; null: of the logical plan. */
  stage: number | null;
}

export interface PlanShape extends Shape {
  boxes: StepBox[];
}

/** The boxes of a plan; lines between sub-topologies go from a sink to the steps that read its topic. */
export function planShape(details: QueryDetails, which: "logical" | "physical"): PlanShape {
  const stages = which === "logical"
    ? [{ number: null, steps: details.logical }]
    : details.subTopologies.map(({ number, steps }) => ({ number, steps }));
  const boxes: StepBox[] = [];
  const lines: Line[] = [];
  for (const { number, steps } of stages) {
    const idOf = (id: string) => `${number ?? "logical"}.${id}`;
    for (const step of steps) {
      boxes.push({ id: idOf(step.id), kind: "STEP", name: step.title, nodes: [], says: said(step), step, stage: number });
      for (const input of step.inputs) lines.push({ source: idOf(input), target: idOf(step.id) });
    }
  }
  for (const sink of boxes.filter(({ step }) => step.topic !== undefined && step.inputs.length > 0)) {
    for (const source of boxes) {
      if (source.step.inputs.length === 0 && source.step.topic === sink.step.topic) lines.push({ source: sink.id, target: source.id });
    }
  }
  return { boxes, lines, key: JSON.stringify([which, boxes.map((box) => box.id), lines]) };
}

/** What a step does, line by line. */
function said({ details }: PlanStep): string[] {
  return details.map(({ name, text }) => (name ? `${name}: ${text}` : text));
}

/** Records per second into a step and out of it; null: not known. */
export interface StepRate {
  in: number | null;
  out: number | null;
}

/** Steps that give one row for each that they read. */
const ONE_TO_ONE = new Set(["Stream Select", "Table Select", "Stream Select Key", "Transient Select", "Packed", "Unpacked"]);

/**
 * The rates of steps between two answers, by the ids of their boxes. Sources and sinks are counted. What lies between is known as far as
 * steps neither add nor drop rows: from the sources on, and back from the sinks.
 */
export function stepRates(before: QueryDetails | null, now: QueryDetails): Map<string, StepRate> {
  const rates = new Map<string, StepRate>();
  const seconds = before === null ? 0 : (now.timeMs - before.timeMs) / 1000;
  if (before === null || before.id !== now.id || seconds <= 0) return rates;
  const earlier = new Map(planShape(before, "physical").boxes.map((box) => [box.id, box.step.volume?.records]));
  const { boxes } = planShape(now, "physical");
  const counted = (box: StepBox): number | null => {
    const then = earlier.get(box.id);
    if (box.step.volume === undefined || then === undefined) return null;
    const grown = box.step.volume.records - then;
    // counters begin at 0 when Spark is started again
    return (grown >= 0 ? grown : box.step.volume.records) / seconds;
  };
  const idOf = (box: StepBox, step: string) => `${box.stage ?? "logical"}.${step}`;
  // a step comes after those that it reads
  for (const box of boxes) {
    const inputs = box.step.inputs.map((input) => rates.get(idOf(box, input))!.out);
    const coming = inputs.length > 0 && inputs.every((rate) => rate !== null) ? inputs.reduce<number>((all, rate) => all + rate!, 0) : null;
    const itself = counted(box);
    const isSink = box.step.topic !== undefined && inputs.length > 0;
    rates.set(box.id, {
      in: isSink ? itself ?? coming : coming,
      out: inputs.length === 0 || isSink ? itself : ONE_TO_ONE.has(box.step.title) ? coming : null,
    });
  }
  for (const box of boxes.toReversed()) {
    const { in: needed } = rates.get(box.id)!;
    if (needed === null || box.step.inputs.length !== 1) continue;
    const input = idOf(box, box.step.inputs[0]!);
    const found = rates.get(input)!;
    if (found.out !== null) continue;
    const title = boxes.find((one) => one.id === input)!.step.title;
    rates.set(input, { in: found.in ?? (ONE_TO_ONE.has(title) ? needed : null), out: needed });
  }
  return rates;
}
