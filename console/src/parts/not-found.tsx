// A page for an address that leads to nothing.
import type { ComponentChildren } from "preact";
import { formatRoute } from "../state/route.ts";

interface Props {
  title: string;
  /** What was not found, as a sentence, and where to look instead. */
  children: ComponentChildren;
}

export function NotFound({ title, children }: Props) {
  return (
    <section class="page">
      <header><h1>{title}</h1></header>
      <p role="status">{children}</p>
      <p>
        <a href={formatRoute("flow", "", { view: "lists" })}>All streams, tables and queries</a> · <a href={formatRoute("topics")}>All topics</a> · <a href={formatRoute("editor")}>Editor</a>
      </p>
    </section>
  );
}
