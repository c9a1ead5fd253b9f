import type { AuthEntrypoint } from "./auth-contract.ts";
import type {
  Checkpoint,
  CheckpointQuery,
  LoadedCheckpoint,
  StoredCheckpoint,
  StoredValue,
  StoredWrite,
} from "./checkpoint-contract.ts";
import type { EmbedCall, EmbeddingResult, StoreAnswer, StoreOp } from "./store-contract.ts";
import type { TraceBatch, TraceOp } from "./trace-contract.ts";

/** RPC contract between a ThreadObject and the isolate of a revision. Plain data only. */

export const STREAM_MODES = [
  "values",
  "updates",
  "messages",
  "messages-tuple",
  "custom",
  "debug",
  "tasks",
  "checkpoints",
  "tools",
  "events",
] as const;
export type StreamMode = (typeof STREAM_MODES)[number];

/** Ordered output of a run. One transaction applies a batch of operations. */
export type Op =
  | ({ op: "checkpoint"; values: StoredValue[] } & StoredCheckpoint)
  | { op: "writes"; ns: string; checkpoint_id: string; writes: StoredWrite[] }
  | { op: "event"; event: string; data: string }
  | TraceOp;

export type AuthAnswer = { status: number; body: string; retry_after_seconds: number | null };

/** RpcTarget that an isolate calls back. Rejects commits of an attempt that is over, and of calls that only read. */
export interface Host {
  commit(ops: Op[]): Promise<void>;
  readCheckpoint(ns: string, checkpoint_id: string | null): Promise<LoadedCheckpoint | null>;
  listCheckpoints(query: CheckpointQuery): Promise<LoadedCheckpoint[]>;
  /** Request and response of `POST /v2/auth/authenticate`, for the user of this run only. */
  authenticate(body: string): Promise<AuthAnswer>;
  /** Store of the thread's deployment. Refuses calls that only read the thread. */
  store(ops: StoreOp[]): Promise<StoreAnswer>;
  /** Resolves to `true` when the run is cancelled, to `false` when the attempt ends before. */
  cancelled(): Promise<boolean>;
}

/** LangGraph's RunnableConfig as it arrives on the wire. */
export type WireConfig = {
  tags?: string[] | undefined;
  recursion_limit?: number | undefined;
  configurable?: Record<string, unknown> | undefined;
  metadata?: Record<string, unknown> | undefined;
};

export type WireCommand = {
  resume?: unknown;
  update?: Record<string, unknown> | [string, unknown][] | null;
  goto?: unknown;
};

export type GraphCall = {
  graph_id: string;
  thread_id: string;
  config: WireConfig;
  context: unknown;
  /** Limit of all values of a checkpoint, `MAX_STATE_BYTES` by default. */
  max_state_bytes?: number;
};

export type RunCall = GraphCall & {
  run_id: string;
  /** Whether the run continues from a checkpoint of an earlier attempt, without its input and command. */
  resuming: boolean;
  /**
   * When `resuming`, the SHA-256 of the text of the run's last `values` event. Empty when the run has emitted none,
   * absent when the run does not stream values or the event was not found.
   */
  emitted_values_sha256?: string;
  input: unknown;
  command: WireCommand | null;
  /** Fails the first attempt when it answers an interrupt that is not pending. */
  strict_resume: boolean;
  stream_modes: StreamMode[];
  stream_subgraphs: boolean;
  /**
   * For the v2 protocol: sends checkpoint envelopes before values, and omits task inputs that
   * values contain.
   */
  short_forms: boolean;
  interrupt_before: string[] | "*" | null;
  interrupt_after: string[] | "*" | null;
  durability: "sync" | "async" | "exit";
  /** Newest checkpoint of the root namespace, `null` on a new thread. */
  head: LoadedCheckpoint | null;
  /** Start of the run's trace, the same for every attempt, and metadata of each trace run. */
  trace: {
    start_time: string;
    dotted_order: string;
    metadata: Record<string, string>;
    /** Header of requests that the run's code makes; absent when the caller of the run has sent none. */
    traceparent?: string;
    /** Metadata of the root alone. */
    root_metadata: {
      queue_wait_ms: number;
      otel_trace_id?: string | undefined;
      otel_parent_span_id?: string | undefined;
    };
  };
};

export type AgentFailure = { error: string; message: string; stack: string | null };

/** Summary of a thread's newest state. The graph makes it, because only the graph can read the channels. */
export type ThreadSummary = {
  /** JSON text. */
  values: string;
  next: string[];
  /** `{ [task_id]: Interrupt[] }` as JSON text. */
  interrupts: string;
};

export type RunOutcome = {
  /** Last batch: returning it with the outcome saves a round trip. */
  ops: Op[];
  failure: AgentFailure | null;
  /** Whether the run exceeded its time limit. */
  is_timeout: boolean;
  summary: ThreadSummary | null;
  /** Called after the end until the last batch; `null` without tracing, and when `ops` contain the remaining traces. */
  traces: (() => Promise<TraceBatch>) | null;
};

export type StateCall = GraphCall & {
  ns: string;
  checkpoint_id: string | null;
  subgraphs: boolean;
};

export type UpdateCall = GraphCall & {
  ns: string;
  checkpoint_id: string | null;
  /** Applied in order. The updates of one superstep apply together, except with LangGraph before 0.2.57. */
  supersteps: WireUpdate[][];
};

/** Update as if a node had written it: values or a command. */
export type WireUpdate = { values: unknown; command: WireCommand | null; as_node: string | null };

export type HistoryCall = GraphCall & {
  ns: string;
  /** Restricts the history to this checkpoint. */
  checkpoint_id: string | null;
  limit: number;
  before_id: string | null;
  metadata: Record<string, unknown> | null;
};

/** Graph with an assistant's configuration, without a thread. */
export type GraphRef = Pick<GraphCall, "graph_id" | "config">;

export type DrawCall = GraphRef & {
  /** Whether to draw subgraphs, or the number of their levels. */
  xray: boolean | number;
};

export type SubgraphsCall = GraphRef & { namespace: string | null; recurse: boolean };

export type Answer<T> = { ok: true; value: T } | { ok: false; error: AgentFailure };

export type GraphDescription = {
  graph_id: string;
  kind: "graph" | "function";
  description: string | null;
  nodes: string[];
  schemas: GraphSchemas;
};

/** JSON Schemas, `null` where unknown. */
export type GraphSchemas = {
  input: unknown;
  output: unknown;
  state: unknown;
  config: unknown;
  context: unknown;
};

/** Entrypoint `Agent` of every isolate. */
export interface AgentEntrypoint extends AuthEntrypoint {
  describe(): Promise<Answer<GraphDescription[]>>;
  /** `false` when the agent's environment variables disable tracing. */
  isTraced(): Promise<boolean>;
  run(call: RunCall, host: Host): Promise<RunOutcome>;
  /** `{nodes, edges}` as JSON text. */
  drawGraph(call: DrawCall): Promise<Answer<string>>;
  describeSchemas(call: GraphRef): Promise<Answer<GraphSchemas>>;
  /** Schemas by namespace. */
  describeSubgraphs(call: SubgraphsCall): Promise<Answer<Record<string, GraphSchemas>>>;
  /** A ThreadState as JSON text. */
  getState(call: StateCall, host: Host): Promise<Answer<string>>;
  /** ThreadState[] as JSON text, newest first. May have fewer states than `limit`, to fit one answer. */
  getHistory(call: HistoryCall, host: Host): Promise<Answer<string>>;
  updateState(
    call: UpdateCall,
    host: Host,
  ): Promise<Answer<{ checkpoint: Checkpoint; summary: ThreadSummary; ops: Op[] }>>;
  summarize(call: GraphCall, host: Host): Promise<Answer<ThreadSummary>>;
  /** Calls the function or the Embeddings that `store.index` of langgraph.json names. */
  embed(call: EmbedCall): Promise<Answer<EmbeddingResult>>;
}
