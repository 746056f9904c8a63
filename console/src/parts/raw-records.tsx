// The records of a partition as they are in Kafka: for those that cannot be decoded.
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { RawRecords } from "../api/types.ts";
import { count } from "../format/numbers.ts";
import { bytesOf, hexOf, textOf, type Raw } from "../format/raw.ts";
import { preciseInstant } from "../format/times.ts";
import { route } from "../state/route.ts";
import { Offered } from "./offered.tsx";
import { Problem } from "./problem.tsx";

const LIMIT = 20;

export function RawRecordsCard({ topic }: { topic: string }) {
  const { partition: asked = "0", offset: from = "" } = route.value.options;
  const [partition, setPartition] = useState(asked);
  const [offset, setOffset] = useState(from);
  const [found, setFound] = useState<RawRecords | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const show = async () => {
    const query = new URLSearchParams({ partition, limit: String(LIMIT), ...(offset === "" ? {} : { offset }) });
    try {
      setFound(await get<RawRecords>(`topics/${encodeURIComponent(topic)}/records?${query}`));
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
  };
  const hasHeaders = found?.records.some((record) => record.headers.length > 0);
  // a link to a record shows it
  useEffect(() => {
    if (from !== "") void show();
  }, []);
  return (
    <div class="card">
      <h2>As bytes</h2>
      <Offered least="developer" of={`topic:${topic}`} what="Reading the records of a topic">
        <form class="bar" onSubmit={(event) => (event.preventDefault(), void show())}>
          <label>partition <input type="number" min="0" class="narrow" required value={partition} onInput={(event) => setPartition(event.currentTarget.value)} /></label>
          <label>from offset <input type="number" min="0" class="narrow" value={offset} onInput={(event) => setOffset(event.currentTarget.value)} /></label>
          <button>Show bytes</button>
          <span class="hint">{found === null ? "without an offset, the newest" : `${count(found.records.length)} ${found.records.length === 1 ? "record" : "records"}; the partition has offsets ${found.firstOffset} to ${found.endOffset - 1}`}</span>
        </form>
      </Offered>
      {problem !== null && <Problem error={problem} />}
      {found !== null && found.records.length > 0 && (
        <table class="plain bytes">
          <thead><tr><th scope="col" class="number">Offset</th><th scope="col">Time</th><th scope="col">Key</th><th scope="col">Value</th>{hasHeaders && <th scope="col">Headers</th>}</tr></thead>
          <tbody>
            {found.records.map((record) => (
              <tr key={record.offset}>
                <td class="number">{record.offset}</td>
                <td>{preciseInstant(record.timeMs)}</td>
                <td><Bytes of={record.key} /></td>
                <td><Bytes of={record.value} /></td>
                {hasHeaders && <td>{record.headers.map((header, index) => <div key={index}>{header.name}: <Bytes of={header.value} /></div>)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

function Bytes({ of }: { of: Raw | null }) {
  if (of === null) return <span class="hint">null</span>;
  const data = bytesOf(of);
  const text = textOf(data);
  return (
    <>
      <pre class={text === null ? "hex" : ""}>{text ?? hexOf(data)}</pre>
      {(text === null || of.size > data.length) && <small class="hint">{count(of.size)} bytes{text === null ? ", not text" : ""}</small>}
    </>
  );
}
