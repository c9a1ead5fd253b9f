import type {
  AgentFailure,
  StreamMode,
  WireCommand,
  WireConfig,
} from "../../../isolate/contract.ts";
import type { AgentUser, Caller } from "../../../shared/context.ts";
import type { RunAssistant } from "./assistant-ids.ts";
import type { MultitaskStrategy, RunStatus, ThreadStatus } from "./run-decisions.ts";
import type { ShownTtl, Ttl } from "./ttl.ts";

/** Plain records that pass between the service, the ThreadObject and its storage. */

export type RevisionRef = { deployment_id: string; revision_id: string; secrets_version: number };

export type Interrupts = Record<string, unknown[]>;

export type ThreadRecord = {
  thread_id: string;
  created_at: string;
  updated_at: string;
  state_updated_at: string | null;
  metadata: Record<string, unknown>;
  status: ThreadStatus;
  config: WireConfig;
  values: unknown;
  interrupts: Interrupts;
  error: AgentFailure | null;
  ttl: ShownTtl | null;
};

/** The request of a run, returned as `kwargs`. */
export type RunKwargs = {
  input: unknown;
  command: WireCommand | null;
  config: WireConfig;
  context: unknown;
  stream_mode: StreamMode[];
  subgraphs: boolean;
  resumable: boolean;
  interrupt_before: string[] | "*" | null;
  interrupt_after: string[] | "*" | null;
  durability: "sync" | "async" | "exit";
  strict_resume?: boolean;
  /** Started by a command of the v2 protocol. */
  protocol?: "v2";
  webhook: string | null;
  feedback_keys: string[] | null;
  temporary: boolean;
};

export type RunRecord = {
  run_id: string;
  thread_id: string;
  assistant_id: string;
  graph_id: string;
  status: RunStatus;
  metadata: Record<string, unknown>;
  kwargs: RunKwargs;
  multitask_strategy: MultitaskStrategy;
  created_at: string;
  updated_at: string;
  cancel_reason: string | null;
  error: AgentFailure | null;
};

export type NewThread = {
  thread_id: string;
  /** `null` or absent when the thread does not expire. */
  ttl?: Ttl | null;
  deployment_id: string;
  workspace_id: string;
  metadata: Record<string, unknown>;
  temporary: boolean;
};

/** Fields of a thread that a run changes, before the change. */
export type ThreadSnapshot = Pick<ThreadRecord, "status" | "config" | "error"> & {
  /** Graph and assistant of the previous run. */
  served_by: { graph_id?: unknown; assistant_id?: unknown };
  revision: RevisionRef | null;
};

/** Identity that created a run or a cron, the origin of its request, and the user of the agent. */
export type Principal = { caller: Caller; origin: string; user?: AgentUser };

/** A run as the service hands it over: assistant resolved, defaults filled in, not yet merged with the thread. */
export type RunRequest = {
  run_id: string;
  assistant_id: string;
  graph_id: string;
  /** Defaults below those of the thread and the run. */
  assistant: Pick<RunAssistant, "config" | "metadata">;
  revision: RevisionRef;
  created_by: Principal;
  metadata: Record<string, unknown>;
  kwargs: RunKwargs;
  multitask_strategy: MultitaskStrategy;
  after_seconds: number;
  /** Thread to create when it does not exist. */
  create_thread: NewThread | null;
  /** Ids of the interrupts to resume. `"input"`: resumes a pending interrupt with the run's input. */
  answers?: string[] | "input";
  /** The newest run of the thread, without which this one is refused. */
  after_run_id?: string;
  /** Set when a client gave an idempotency key. `earlier_id`: the id that the key gave the day before. */
  keyed?: { earlier_id: string; request_sha256: string };
};

export type CancelChoice = {
  run_ids: string[] | null;
  /** Applies when `run_ids` is `null`. */
  status: "pending" | "running" | "all";
};

/** `thread_id` is `null` for threadless runs. Runs store the configurable headers. */
export type RunTarget = {
  deployment_id: string;
  thread_id: string | null;
  headers: Record<string, string>;
  origin: string;
  /** Given by internal callers, which repeat a request with the same id. */
  run_id?: string;
  /** Given by clients. */
  idempotency_key?: string | undefined;
  /** The run that the client saw as the newest one of the thread. */
  after_run_id?: string | undefined;
  /** Set by commands of the v2 protocol. */
  protocol?: "v2";
  answers?: string[] | "input";
};

export type RunRefusal =
  | "thread_missing"
  | "checkpoint_missing"
  | "busy"
  | "too_large"
  | "key_reused"
  | "outdated"
  | "no_pending_interrupt"
  | "unknown_interrupt";

/** A read or a change of a thread, which can be too large. */
export type ThreadResult<T> =
  | ({ ok: true } & T)
  | { ok: false; refusal: "thread_missing" | "too_large" };

export type RunAcceptance<T> =
  | ({ ok: true; run: RunRecord } & T)
  | { ok: false; refusal: RunRefusal };

export type StreamChoice = {
  /** Id of the last event received, -1 for all events. */
  after: number;
  modes: string[] | null;
  /** `""` is the root, `a:1|b:2` a subgraph. `null`: all graphs. */
  namespaces: string[] | null;
  cancel_on_disconnect: boolean;
  /** Skips the events up to this checkpoint. */
  checkpoint_id?: string | undefined;
};
