// Where the delay of a stream or table comes from, stage by stage.
import { run } from "../api/client.ts";
import { span } from "../format/numbers.ts";
import { nameInSql } from "../sql/statements.ts";
import { useAsked } from "../state/asked.ts";
import { formatRoute } from "../state/route.ts";
import { Problem } from "./problem.tsx";
import { State } from "./state.tsx";

export function FreshnessCard({ name }: { name: string }) {
  const asked = useAsked(() => run(`EXPLAIN FRESHNESS ${nameInSql(name)};`), name, 5_000);
  const found = asked.value?.[0]?.freshness;
  if (asked.error === null && found === undefined) return null;
  return (
    <div class="card">
      <h2>Freshness</h2>
      {asked.error !== null && <Problem error={asked.error} />}
      {found && <p class={found.culprit === null ? "" : "banner warn"}>{found.verdict}</p>}
      {found && found.stages.length > 0 && (
        <table class="plain">
          <thead><tr><th scope="col">Stage</th><th scope="col">State</th><th scope="col" class="number">Adds</th><th scope="col">Evidence</th></tr></thead>
          <tbody>
            {found.stages.map((stage) => (
              <tr key={`${stage.kind} ${stage.name}`}>
                <td>{stage.kind === "QUERY" ? <a href={formatRoute("query", stage.name)}>{stage.name}</a> : `${stage.kind.toLowerCase()} ${stage.name}`}</td>
                <td>{stage.state !== null && <State state={stage.state} />}</td>
                <td class="number">{span(stage.delaySeconds)}</td>
                <td>{stage.evidence.map((line) => <div key={line}>{line}</div>)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}
