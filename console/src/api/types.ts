// The answers of the REST API that the console reads; /openapi.json describes all of them.

export type RoleName = "reader" | "developer" | "admin";

/** Who sends requests with these credentials, and what they may do. */
export interface Rights {
  user: string;
  role: RoleName | null;
  grants: { role: RoleName; pattern: string }[];
}

export type NodeKind = "TOPIC" | "STREAM" | "TABLE" | "QUERY" | "CONNECTOR";

export interface QueryFigures {
  arrivingPerS: number | null;
  readPerS: number | null;
  writtenPerS: number | null;
  lagRecords: number | null;
  arrivedRecords: number | null;
  lagSeconds: number | null;
  latencySeconds: number | null;
  errors: Record<string, number>;
  failures: number;
  stateRows: number | null;
  stateBytes: number | null;
}

export interface GraphNode {
  id: string;
  kind: NodeKind;
  name: string;
  state?: string;
  statement?: string;
  error?: string;
  host?: string;
  /** The table that the query will write once it has caught up. */
  newVersionOf?: string;
  topic?: string;
  formats?: [string, string];
  windowed?: boolean;
  role?: RoleName;
  figures?: QueryFigures;
  topicFigures?: { arrivingPerS: number | null; records: number | null };
}

export interface GraphEdge {
  source: string;
  target: string;
}

export interface Culprit {
  queryId: string;
  reason: string;
}

export interface Graph {
  timeMs: number | null;
  nodes: GraphNode[];
  edges: GraphEdge[];
  culprits: Culprit[];
  warnings: string[];
  /** Whether GET /clusterStatus answers. */
  hasServers?: boolean;
}

/** A step of a plan. */
export interface PlanStep {
  id: string;
  title: string;
  details: { name: string; text: string }[];
  inputs: string[];
  topic?: string;
  volume?: { records: number; bytes: number };
  state?: string;
}

export interface Histogram {
  bounds: number[];
  counts: number[];
  sumSeconds?: number;
}

/** How a query runs, step by step. */
export interface QueryDetails {
  id: string;
  state: string;
  timeMs: number;
  logical: PlanStep[];
  subTopologies: {
    number: number;
    execution: string;
    steps: PlanStep[];
    state: { rows: number; bytes: number; at: string; outgrown?: string } | null;
    checkpoints: { batch: number; timeMs: number; tookMs: number; pauseMs?: number; records: number; partsMs: Record<string, number> }[];
  }[];
  latencies: Record<string, Histogram>;
  /** By topic and partition, the offset after the last record that it has processed; empty of what is not known. */
  reached: Record<string, Record<string, number>>;
  pauses: Histogram | null;
  /** Of late records, the GRACE PERIOD with which each would not have been late. */
  graces: Histogram | null;
  transitions: { timeMs: number; event: string; state: string; reason?: string }[];
}

export interface RawBytes {
  base64: string;
  size: number;
}

/** Records of a partition as they are in Kafka. */
export interface RawRecords {
  partitions: number;
  firstOffset: number;
  endOffset: number;
  records: { offset: number; timeMs: number; key: RawBytes | null; value: RawBytes | null; headers: { name: string; value: RawBytes | null }[] }[];
}

export interface SubjectVersions {
  subject: string;
  versions: { version: number; id: number; type: string; schema: string }[];
}

export interface SourceSchemas {
  key: SubjectVersions | null;
  value: SubjectVersions | null;
}

export interface SchemaInfo {
  type: string;
  fields?: Field[] | null;
  memberSchema?: SchemaInfo | null;
  parameters?: Record<string, number>;
}

export interface Field {
  name: string;
  schema: SchemaInfo;
  type?: string;
}

export interface RunningQuery {
  id: string;
  queryString: string;
  sinks: string[];
  state: string;
  queryType: string;
}

export interface SourceDescription {
  name: string;
  type: string;
  windowType: string | null;
  readQueries: RunningQuery[];
  writeQueries: RunningQuery[];
  fields: Field[];
  timestamp: string;
  statistics: string;
  errorStats: string;
  keyFormat: string;
  valueFormat: string;
  topic: string;
  partitions: number;
  replication: number;
  statement: string;
  queryOffsetSummaries: OffsetSummary[];
  sourceConstraints: string[];
}

/** How far a query has read topics, at its last checkpoint. */
export interface OffsetSummary {
  /** The query's id. */
  groupId: string;
  topicSummaries: { kafkaTopic: string; offsets: { partition: number; logStartOffset: number; logEndOffset: number; consumerOffset: number }[] }[];
}

export interface QueryDescription {
  id: string;
  statementText: string;
  windowType: string | null;
  fields: Field[];
  sources: string[];
  sinks: string[];
  topology: string;
  executionPlan: string;
  state: string | null;
  queryErrors: { timestamp: number; errorMessage: string; type: string }[];
}

export interface Property {
  name: string;
  scope: string;
  value: string | null;
  editable: boolean;
  level: string;
}

export interface PropertyDescription {
  name: string;
  description: string;
}

/** Where the delay of a stream or table comes from. */
export interface Freshness {
  stages: { name: string; kind: string; state: string | null; delaySeconds: number | null; evidence: string[] }[];
  culprit: string | null;
  verdict: string;
}

export interface FunctionName {
  name: string;
  type: string;
  category: string;
}

export interface FunctionDescription {
  name: string;
  description: string;
  author: string;
  version: string;
  type: string;
  /** Each in one line, and what can be selected. */
  examples: { text: string; call?: string }[];
  functions: {
    arguments: { name: string; type: string; description: string }[];
    returnType: string;
    description: string;
  }[];
}

/** One object of the answer to POST /ksql. */
export interface Entity {
  "@type": string;
  statementText: string;
  warnings: { message: string }[];
  commandStatus?: { status: string; message: string; queryId: string | null };
  message?: string;
  sourceDescription?: SourceDescription;
  queryDescription?: QueryDescription;
  streams?: { name: string; topic: string; keyFormat: string; valueFormat: string; isWindowed: boolean }[];
  tables?: { name: string; topic: string; keyFormat: string; valueFormat: string; isWindowed: boolean }[];
  sourceDescriptions?: SourceDescription[];
  indexes?: IndexInfo[];
  views?: { name: string; query: string }[];
  topics?: { name: string; replicaInfo: number[]; consumerCount?: number; consumerGroupCount?: number; recordCount?: number; retentionMs?: number; isCompacted?: boolean; connectors?: string[] }[];
  queries?: RunningQuery[];
  properties?: Property[];
  services?: { name: string; address: string | null; startedHere: boolean }[];
  functions?: unknown[];
  freshness?: Freshness;
  connectors?: { name: string; type: string; className: string; state: string }[];
  connectorsPlugins?: { className: string; type: string | null; version: string | null }[];
}

/** The answer to DESCRIBE CONNECTOR. */
export interface ConnectorDescription {
  connectorClass: string;
  status: {
    type?: string;
    connector?: { state: string; worker_id: string; trace?: string };
    tasks?: { id: number; state: string; worker_id: string; trace?: string }[];
  };
  sources: { name: string; type: string }[];
  topics: string[];
}

export interface ConnectorSetting {
  name: string;
  type: string;
  required: boolean;
  defaultValue: string | null;
  importance: string;
  group: string | null;
  documentation: string;
}

/** A statement of a text, of POST /ksql/split. */
export interface SplitStatement {
  /** Where its first word begins, and where it ends, after its `;`. */
  start: number;
  end: number;
  isComplete: boolean;
  verb: string;
  object: string;
  name: string;
  isQuery: boolean;
  isPush: boolean;
  hasQuery: boolean;
  isReplacement: boolean;
  deletesTopic: boolean;
  property: string | null;
  value: string | null;
  /** The least role that may run it, whatever its names are. */
  role: RoleName;
}

export interface ErrorBody {
  error_code: number;
  message: string;
  statementText?: string;
  entities?: Entity[];
}

export interface ServerInfo {
  version: string;
  kafkaClusterId: string;
  ksqlServiceId: string;
  serverStatus: string;
}

export interface Health {
  isHealthy: boolean;
  serverState: string;
  details: Record<string, { isHealthy: boolean; problem?: string | null; reasons?: Record<string, string>; starting?: string[] }>;
}

export interface HostStatus {
  hostAlive: boolean;
  lastStatusUpdateMs: number;
  activeStandbyPerQuery: Record<string, unknown>;
  drained?: boolean;
}

export interface IndexInfo {
  name: string;
  table: string;
  columns: string[];
  /** Whether look-ups use it. */
  ready: boolean;
}
