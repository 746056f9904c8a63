// Asks before something is done that cannot be undone, or that others notice.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Props {
  title: string;
  /** null: there is nothing to confirm. */
  action: string | null;
  children: ComponentChildren;
  onAnswer: (isYes: boolean) => void;
}

export function Confirm({ title, action, children, onAnswer }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="confirm" onClose={() => onAnswer(false)}>
      <h2 id="confirm">{title}</h2>
      {children}
      <div class="bar">
        <button onClick={() => onAnswer(false)} autofocus>{action === null ? "Close" : "Cancel"}</button>
        {action !== null && <button class="danger" onClick={() => onAnswer(true)}>{action}</button>}
      </div>
    </dialog>
  );
}
