import type { AgentUser, AuthEntrypoint } from "./auth-contract.ts";
import type { Server } from "./server.ts";
import type { EmbedCall, Embedded, StoreAnswer, StoreOp } from "./store-contract.ts";

/** What a ThreadObject and the isolate of a revision say to each other over RPC. Plain data only. */

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

/** A value as the checkpoint serializer wrote it: its type tag and its bytes. */
export type Typed = { type: string; data: Uint8Array };

export type StoredWrite = Typed & { task_id: string; idx: number; channel: string };
export type StoredValue = Typed & { channel: string; version: number };

/** A checkpoint without its channel values; those are stored once per channel and version. */
export type StoredCheckpoint = {
  ns: string;
  checkpoint_id: string;
  parent_id: string | null;
  /** JSON text. */
  checkpoint: string;
  /** JSON text. */
  metadata: string;
};

export type LoadedCheckpoint = StoredCheckpoint & {
  values: StoredValue[];
  writes: StoredWrite[];
};

/** What a run has to say, in order. A batch of operations is applied in one transaction. */
export type Op =
  | ({ op: "checkpoint"; values: StoredValue[] } & StoredCheckpoint)
  | { op: "writes"; ns: string; checkpoint_id: string; writes: StoredWrite[] }
  | { op: "event"; event: string; data: string }
  | TraceOp;

/** A trace run, or what changed of it, as JSON text in the form that ingestion takes. */
export type TraceOp = {
  op: "trace";
  kind: "post" | "patch";
  id: string;
  /** The run's place in its trace while it is open; null once it ended. */
  open: string | null;
  data: string;
  /** Long payloads, which `data` leaves out. */
  texts?: Partial<Record<TracePayload, TraceText>>;
};

export type TracePayload = "inputs" | "outputs";

/** A JSON text, or what it has in common with one that was told before in the same batch. */
export type TraceText =
  | { id: number; text: string }
  | { of: number; before: string; from: number; chars: number; rest: string };

export type TraceBatch = { ops: TraceOp[]; isLast: boolean };

export type CheckpointQuery = {
  ns?: string;
  checkpoint_id?: string;
  before_id?: string;
  limit?: number;
  metadata?: Record<string, unknown>;
};

export type AuthAnswer = { status: number; body: string; retry_after_seconds: number | null };

/** The RpcTarget that an isolate calls back. Commits of an attempt that is over are refused. */
export interface Host {
  commit(ops: Op[]): Promise<void>;
  readCheckpoint(ns: string, checkpoint_id: string | null): Promise<LoadedCheckpoint | null>;
  listCheckpoints(query: CheckpointQuery): Promise<LoadedCheckpoint[]>;
  /** The body and the answer of `POST /v2/auth/authenticate`, for the user of this run alone. */
  authenticate(body: string): Promise<AuthAnswer>;
  /** Of the deployment that the thread is of. */
  store(ops: StoreOp[]): Promise<StoreAnswer>;
  /** Settles when the run is cancelled (true) or over (false). */
  cancelled(): Promise<boolean>;
}

/** A line that a run has printed, before its call is over. */
export type EarlyLine = { key: string; level: string; message: string; ms: number };

/** What the entrypoint of an isolate is given; the agent itself does not see it. */
export type AgentProps = {
  /** Before the key, it is the first thing printed in a line. */
  line_mark: string;
  lines: { early(lines: EarlyLine[]): Promise<void> };
  /** The server that the agent is of, as its own code calls it. */
  server?: Server;
  /** Of a request to the agent's HTTP app: where its routes end, and who asks. */
  builtin?: Server;
  user?: AgentUser | null;
};

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
};

export type RunCall = GraphCall & {
  run_id: string;
  /** True from the second attempt on, once the run has written a checkpoint: continue, do not start again. */
  resuming: boolean;
  input: unknown;
  command: WireCommand | null;
  /** An answer to an interrupt that does not wait fails the run. */
  strict_resume: boolean;
  stream_modes: StreamMode[];
  stream_subgraphs: boolean;
  /** For the v2 protocol: each checkpoint in short before its values, and no input of a task that they say. */
  short_forms: boolean;
  interrupt_before: string[] | "*" | null;
  interrupt_after: string[] | "*" | null;
  durability: "sync" | "async" | "exit";
  /** Newest checkpoint of the root namespace; null on a thread without one. */
  head: LoadedCheckpoint | null;
  /** Where the run's trace begins, the same for every attempt, and what each trace run carries. */
  trace: { start_time: string; dotted_order: string; metadata: Record<string, string> };
};

export type AgentFailure = { error: string; message: string; stack: string | null };

/** Where a thread stands after a run: JSON texts, made beside the graph because only it can read its channels. */
export type ThreadSummary = {
  values: string;
  next: string[];
  /** `{ [task_id]: Interrupt[] }` */
  interrupts: string;
};

export type RunOutcome = {
  /** The last batch: it travels in the answer and saves a round trip. */
  ops: Op[];
  failure: AgentFailure | null;
  /** The failure is that it took too long. */
  is_timeout: boolean;
  summary: ThreadSummary | null;
  /** Asked until it gives the last, after the end was told; null when `ops` have all there is to tell. */
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
  /** One after the other; the updates of one are made together. */
  supersteps: WireUpdate[][];
};

/** As if a node had written it: values, or what a command says. */
export type WireUpdate = { values: unknown; command: WireCommand | null; as_node: string | null };

export type HistoryCall = GraphCall & {
  ns: string;
  /** This checkpoint alone. */
  checkpoint_id: string | null;
  limit: number;
  before_id: string | null;
  metadata: Record<string, unknown> | null;
};

export type Checkpoint = {
  thread_id: string;
  checkpoint_id: string;
  checkpoint_ns: string;
  checkpoint_map: Record<string, unknown> | null;
};

/** A graph as an assistant has it, without a thread. */
export type GraphRef = Pick<GraphCall, "graph_id" | "config">;

export type DrawCall = GraphRef & {
  /** Whether graphs within are drawn too, or how many levels of them. */
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

/** JSON Schemas as far as the graph itself tells them at run time; null elsewhere. */
export type GraphSchemas = {
  input: unknown;
  output: unknown;
  state: unknown;
  config: unknown;
  context: unknown;
};

/** The entrypoint `Agent` of every isolate. */
export interface AgentEntrypoint extends AuthEntrypoint {
  describe(): Promise<Answer<GraphDescription[]>>;
  /** False: its configuration has switched tracing off. */
  isTraced(): Promise<boolean>;
  run(call: RunCall, host: Host): Promise<RunOutcome>;
  /** `{nodes, edges}` as JSON text. */
  drawGraph(call: DrawCall): Promise<Answer<string>>;
  describeSchemas(call: GraphRef): Promise<Answer<GraphSchemas>>;
  /** By namespace. */
  describeSubgraphs(call: SubgraphsCall): Promise<Answer<Record<string, GraphSchemas>>>;
  /** A ThreadState as JSON text. */
  getState(call: StateCall, host: Host): Promise<Answer<string>>;
  /** ThreadState[] as JSON text, newest first. */
  getHistory(call: HistoryCall, host: Host): Promise<Answer<string>>;
  updateState(
    call: UpdateCall,
    host: Host,
  ): Promise<Answer<{ checkpoint: Checkpoint; summary: ThreadSummary; ops: Op[] }>>;
  summarize(call: GraphCall, host: Host): Promise<Answer<ThreadSummary>>;
  /** By the function that `store.index` of langgraph.json names. */
  embed(call: EmbedCall): Promise<Answer<Embedded>>;
}
