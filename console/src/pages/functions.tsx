// The functions of SQL, and what each takes and gives.
import "../first.ts";
import { run } from "../api/client.ts";
import type { Entity, FunctionDescription, FunctionName } from "../api/types.ts";
import { Problem } from "../parts/problem.tsx";
import { exampleOf } from "../sql/example.ts";
import { useAsked } from "../state/asked.ts";
import { graph } from "../state/graph.ts";
import { formatRoute, route, setOptions } from "../state/route.ts";

export function FunctionsPage() {
  const { name, options: { search = "" } } = route.value;
  const listed = useAsked(() => run("SHOW FUNCTIONS;"), "functions");
  const needle = search.toLowerCase();
  const found = ((listed.value?.[0]?.functions ?? []) as FunctionName[]).filter((one) => `${one.name} ${one.category}`.toLowerCase().includes(needle));
  const families = [...new Set(found.map((one) => one.category))].sort();
  return (
    <section class="page">
      <header>
        <h1>Functions</h1>
        <input type="search" placeholder="Search" aria-label="Search functions" value={search} onInput={(event) => setOptions({ search: event.currentTarget.value })} />
      </header>
      {name && <Described name={name} />}
      {listed.error !== null && <Problem error={listed.error} />}
      {families.map((family) => (
        <div class="card" key={family}>
          <h2>{family.toLowerCase()}</h2>
          <div class="bar">
            {found.filter((one) => one.category === family).map((one) => (
              <a key={one.name} class="chip" href={formatRoute("functions", one.name, { search })} aria-current={one.name === name ? "true" : undefined}>{one.name}</a>
            ))}
          </div>
        </div>
      ))}
    </section>
  );
}

function Described({ name }: { name: string }) {
  const asked = useAsked(() => run(`DESCRIBE FUNCTION ${name};`), name);
  const found = asked.value?.[0] as (Omit<Entity, "functions"> & FunctionDescription) | undefined;
  const stream = graph.value?.nodes.find((node) => node.kind === "STREAM");
  if (asked.error !== null) return <Problem error={asked.error} />;
  if (found === undefined) return null;
  return (
    <div class="card">
      <h2>{found.name} <span class="state idle">{found.type.toLowerCase()}</span></h2>
      <p>{found.description}</p>
      {found.functions.map((one, index) => (
        <div key={index}>
          <code>{found.name}({one.arguments.map((argument) => `${argument.name} ${argument.type}`).join(", ")}) → {one.returnType}</code>
          {one.description && one.description !== found.description && <p>{one.description}</p>}
          <ul>{one.arguments.filter((argument) => argument.description).map((argument) => <li key={argument.name}><code>{argument.name}</code>: {argument.description}</li>)}</ul>
        </div>
      ))}
      {found.examples.length > 0 && (
        <>
          <h3>Examples</h3>
          <ul class="examples">
            {found.examples.map((one) => (
              <li key={one.text}>
                <code>{one.text}</code>
                {one.call !== undefined && stream !== undefined && <> <a href={formatRoute("editor", "", { sql: exampleOf(one.call, stream.name) })}>Run it</a></>}
              </li>
            ))}
          </ul>
          {stream === undefined && <p class="hint">They can be run once there is a stream.</p>}
        </>
      )}
    </div>
  );
}
