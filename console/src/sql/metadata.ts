// What the server has, for completion: asked for when the editor opens, and after statements that change it.
import { signal } from "@preact/signals";
import { run } from "../api/client.ts";
import type { IndexInfo, RunningQuery, SourceDescription } from "../api/types.ts";
import type { Metadata } from "./complete.ts";

export const metadata = signal<Metadata>({ sources: {}, tables: [], views: [], indexes: [], functions: [], queries: [], topics: [], properties: [] });

/** The same with types, for people. */
export const described = signal<SourceDescription[]>([]);
export const running = signal<RunningQuery[]>([]);
export const indexes = signal<IndexInfo[]>([]);

/** Ask for it; what cannot be asked for stays as it was. */
export async function refreshMetadata(): Promise<void> {
  const ask = async (statement: string) => (await run(statement).catch(() => []))[0];
  const [streams, tables, views, queries, topics, indexed] = await Promise.all(
    ["DESCRIBE STREAMS;", "DESCRIBE TABLES;", "DESCRIBE VIEWS;", "SHOW QUERIES;", "SHOW TOPICS;", "SHOW INDEXES;"].map(ask),
  );
  described.value = [...(streams?.sourceDescriptions ?? []), ...(tables?.sourceDescriptions ?? []), ...(views?.sourceDescriptions ?? [])];
  running.value = queries?.queries?.filter((one) => one.queryType === "PERSISTENT") ?? [];
  indexes.value = indexed?.indexes ?? [];
  metadata.value = {
    ...metadata.value,
    sources: Object.fromEntries(described.value.map((one) => [one.name, one.fields.map((field) => field.name)])),
    views: (views?.sourceDescriptions ?? []).map((one) => one.name),
    indexes: indexes.value.map((one) => one.name),
    tables: (tables?.sourceDescriptions ?? []).map((one) => one.name),
    queries: queries?.queries?.map((one) => one.id) ?? [],
    topics: topics?.topics?.map((one) => one.name) ?? [],
  };
  if (metadata.value.functions.length === 0) {
    const [functions, properties] = await Promise.all(["SHOW FUNCTIONS;", "SHOW PROPERTIES;"].map(ask));
    metadata.value = {
      ...metadata.value,
      functions: ((functions?.functions ?? []) as { name: string }[]).map((one) => one.name),
      properties: properties?.properties?.map((one) => one.name) ?? [],
    };
  }
}
