// A query's plan as a drawing: its steps as boxes, and how much flows through those that are counted.
import type { PlanStep, QueryDetails } from "../api/types.ts";
import type { Box, Line, Shape } from "./shape.ts";

export interface StepBox extends Box {
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
      boxes.push({ id: idOf(step.id), kind: "STEP", name: step.title, nodes: [], step, stage: number });
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

/** Records per second of each counted step between two answers, by the ids of its box. */
export function stepRates(before: QueryDetails | null, now: QueryDetails): Map<string, number> {
  const rates = new Map<string, number>();
  const seconds = before === null ? 0 : (now.timeMs - before.timeMs) / 1000;
  if (before === null || before.id !== now.id || seconds <= 0) return rates;
  const earlier = new Map(planShape(before, "physical").boxes.map((box) => [box.id, box.step.volume?.records]));
  for (const { id, step } of planShape(now, "physical").boxes) {
    const then = earlier.get(id);
    if (step.volume === undefined || then === undefined) continue;
    const grown = step.volume.records - then;
    // counters begin at 0 when Spark is started again
    rates.set(id, (grown >= 0 ? grown : step.volume.records) / seconds);
  }
  return rates;
}
