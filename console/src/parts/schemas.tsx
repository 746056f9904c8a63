// The schemas of a stream or table in the registry, with their versions.
import { useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { SourceSchemas, SubjectVersions } from "../api/types.ts";
import { useAsked } from "../state/asked.ts";
import { Problem } from "./problem.tsx";

export function Schemas({ name }: { name: string }) {
  const asked = useAsked(() => get<SourceSchemas>(`sources/${encodeURIComponent(name)}/schemas`), name);
  const sides = asked.value === null ? [] : [["Keys", asked.value.key], ["Values", asked.value.value]] as const;
  return (
    <div class="card">
      <h2>Schemas in the registry</h2>
      {asked.error !== null && <Problem error={asked.error} />}
      {asked.value !== null && sides.every(([, found]) => found === null) && <p class="hint">None: its formats have no schemas there.</p>}
      {sides.map(([side, found]) => found && <Versions key={side} side={side} found={found} />)}
    </div>
  );
}

function Versions({ side, found }: { side: string; found: SubjectVersions }) {
  const [chosen, choose] = useState(found.versions[0]?.version);
  const shown = found.versions.find((one) => one.version === chosen);
  return (
    <>
      <p>
        {side}: subject <code>{found.subject}</code>{" "}
        {found.versions.length === 0 ? "has no version yet" : (
          <label>version{" "}
            <select value={chosen} onChange={(event) => choose(Number(event.currentTarget.value))}>
              {found.versions.map((one) => <option key={one.version} value={one.version}>{one.version}</option>)}
            </select>
          </label>
        )}
        {shown && <span class="hint"> {shown.type}, id {shown.id}</span>}
      </p>
      {shown && <pre class="lines" tabIndex={0}>{pretty(shown.schema)}</pre>}
    </>
  );
}

function pretty(schema: string): string {
  try {
    return JSON.stringify(JSON.parse(schema), null, 2);
  } catch {
    return schema;
  }
}
