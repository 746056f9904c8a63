// A component whose code is loaded when it is first shown.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

export function later(load: () => Promise<ComponentType>): ComponentType {
  let loaded: ComponentType | null = null;
  return function Later() {
    const [Page, setPage] = useState<{ it: ComponentType } | null>(loaded && { it: loaded });
    const [problem, setProblem] = useState<string | null>(null);
    useEffect(() => {
      if (Page !== null) return;
      load().then(
        (it) => setPage({ it: (loaded = it) }),
        // another version of the server has other files
        () => setProblem("This page could not be loaded. Load the console again."),
      );
    }, []);
    return Page === null ? <p class="hint pad" role="status">{problem}</p> : <Page.it />;
  };
}
