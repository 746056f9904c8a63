// Records of a stream, table or topic, as they come or from some place on.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { serverGone } from "../api/client.ts";
import { Runner } from "../sql/runner.ts";
import { own } from "../sql/statements.ts";
import { OutcomeView } from "./outcome.tsx";

export interface Choice {
  label: string;
  /** SELECT or PRINT. */
  sql: string;
  fromBeginning: boolean;
}

interface Props {
  choices: Choice[];
  /** Whether the first of them is read at once. */
  isOpen?: boolean;
  /** Fields beside the buttons. */
  children?: ComponentChildren;
}

export function Records({ choices, isOpen = false, children }: Props) {
  const [runner] = useState(() => new Runner());
  const start = ({ sql, fromBeginning }: Choice) => {
    runner.settings.value = { "auto.offset.reset": fromBeginning ? "earliest" : "latest" };
    runner.clear();
    void runner.run([own(sql)], false);
  };
  useEffect(() => {
    if (isOpen) start(choices[0]!);
    return () => runner.stop();
  }, []);
  const tick = runner.tick.value;
  return (
    <div class="card flat records">
      <div class="bar">
        <h2>Records</h2>
        {choices.map((choice) => <button key={choice.label} disabled={serverGone.value !== null} onClick={() => start(choice)}>{choice.label}</button>)}
        {children}
        <button onClick={() => runner.stop()} disabled={!runner.isRunning.value}>Stop</button>
      </div>
      {runner.outcomes.value.map((outcome) => <OutcomeView key={outcome.id} outcome={outcome} tick={tick} />)}
    </div>
  );
}
