// A box of the graph: what it is, how it does, and a link to its page.
import { serverGone } from "../api/client.ts";
import type { GraphNode } from "../api/types.ts";
import { count, rate, short, span } from "../format/numbers.ts";
import { looksOf, State } from "../parts/state.tsx";
import { Progress } from "../parts/progress.tsx";
import { failedOf } from "../state/graph.ts";
import { formatRoute } from "../state/route.ts";
import type { Box } from "./shape.ts";

const KINDS: Record<Box["kind"], string> = {
  TOPIC: "topic", STREAM: "stream", TABLE: "table", QUERY: "query", CONNECTOR: "connector", GROUP: "group", STEP: "step",
};

interface Props {
  box: Box;
  at: { x: number; y: number; width: number; height: number };
  isCulprit: boolean;
  /** Whether it is among those that are looked for; null: nothing is looked for. */
  isFound: boolean | null;
  onFocus: () => void;
}

export function Card({ box, at, isCulprit, isFound, onFocus }: Props) {
  const node = box.nodes.find((one) => one.id === box.id) ?? box.nodes[0]!;
  const failed = failedOf(node.figures);
  const style = { left: `${at.x}px`, top: `${at.y}px`, width: `${at.width}px`, height: `${at.height}px` };
  return (
    <div class={`node ${box.kind.toLowerCase()} ${looksOfBox(box)}${isCulprit ? " culprit" : ""}${isFound === null ? "" : isFound ? " found" : " faded"}`} style={style} data-id={box.id}>
      <a href={linkOf(box)} title={box.name} onFocus={onFocus}>
        <small>
          {node.newVersionOf === undefined ? KINDS[box.kind] : "new version"}{isCulprit ? " · the cause" : ""}
          <span class="space" />
          {failed > 0 && <span class="state bad" title="single records that could not be read or processed">{short(failed)} failed</span>}
          {(box.kind === "QUERY" || box.kind === "CONNECTOR") && <State state={node.state} />}
        </small>
        <b>{box.name.split(/(?<=[_.-])/).map((part, index) => <>{index > 0 && <wbr />}{part}</>)}</b>
      </a>
      {box.kind === "QUERY" && <Figures node={node} />}
      {node.topicFigures !== undefined && (
        <span class="figures">
          <span title="records that come into its topic each second, whoever writes them">{rate(node.topicFigures.arrivingPerS)}</span>
          <span title={`${count(node.topicFigures.records)} records from the first offset of its topic to the last`}>{short(node.topicFigures.records)} records</span>
        </span>
      )}
      {box.kind === "GROUP" && <span class="figures">{count(box.nodes.length)} parts</span>}
    </div>
  );
}

/** The class of colours of a box: a query that runs, but for single records, is not all right. */
export function looksOfBox({ kind, nodes: [node] }: Box): string {
  if ((kind !== "QUERY" && kind !== "CONNECTOR") || serverGone.value !== null) return "";
  const looks = looksOf(node?.state);
  return looks === "good" && failedOf(node?.figures) > 0 ? "warn" : looks;
}

/** Where a box leads. */
function linkOf(box: Box): string {
  if (box.kind === "QUERY") return formatRoute("query", box.name);
  if (box.kind === "STREAM" || box.kind === "TABLE") return formatRoute("source", box.name);
  if (box.kind === "CONNECTOR") return formatRoute("connectors", box.name);
  if (box.kind === "TOPIC") return formatRoute("topics", box.name);
  return formatRoute("flow", "", { focus: box.id });
}

function Figures({ node }: { node: GraphNode }) {
  const figures = node.figures;
  if (figures === undefined) return null;
  const late = figures.errors.late ?? 0;
  return (
    <>
      <span class="figures">
        <span title={`reads ${count(figures.readPerS)} records/s`}>in {rate(figures.readPerS)}</span>
        <span title={`writes ${count(figures.writtenPerS)} records/s`}>out {rate(figures.writtenPerS)}</span>
      </span>
      {node.newVersionOf !== undefined ? <span class="figures"><Progress node={node} /></span> : <span class="figures">
        <span class={(figures.lagSeconds ?? 0) > 10 ? "warn" : ""} title={`${count(figures.lagRecords)} records are not read yet; the oldest has waited for ${span(figures.lagSeconds)}`}>
          lag {short(figures.lagRecords)}
        </span>
        <span title="95 % of the latest results could be read within this time of their event; – if their events were old when they came">p95 {span(figures.latencySeconds)}</span>
        {late > 0 && <span class="warn" title="records that came too late">{short(late)} late</span>}
      </span>}
    </>
  );
}
