// Plain records that pass between the service, the ThreadObject and its storage.
import type {
  AgentFailure,
  StreamMode,
  WireCommand,
  WireConfig,
} from "../../../isolate/contract.ts";
import type { AgentUser, Caller } from "../../../shared/context.ts";
import type { Filters } from "../../../shared/filters.ts";
import type { RunAssistant } from "./assistant-ids.ts";
import type { CancelAction, MultitaskStrategy, RunStatus, ThreadStatus } from "./run-decisions.ts";
import type { ShownTtl, Ttl } from "./ttl.ts";

export type RevisionRef = { deployment_id: string; revision_id: string; secrets_version: number };

/** Identity that created a run or a cron, the origin of its request, and the user of the agent. */
export type Principal = { caller: Caller; origin: string; user?: AgentUser };

/** Interrupts of the thread's state, by task. */
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

export type NewThread = {
  thread_id: string;
  /** `null` or absent when the thread does not expire. */
  ttl?: Ttl | null;
  deployment_id: string;
  workspace_id: string;
  metadata: Record<string, unknown>;
  /**
   * Set for the thread of a threadless run, unless the run keeps its thread: the thread is deleted when the run ends.
   * Also set while a copy is filled: a copy that a failure stops is deleted.
   */
  temporary: boolean;
};

/** Fields of a thread that a run changes, with their values before the run: a rollback restores them. */
export type ThreadSnapshot = Pick<ThreadRecord, "status" | "config" | "error"> & {
  /** Graph and assistant of the previous run. */
  served_by: { graph_id?: unknown; assistant_id?: unknown };
  revision: RevisionRef | null;
};

/** The request of a run, returned as `kwargs`. */
export type RunKwargs = {
  input: unknown;
  command: WireCommand | null;
  config: WireConfig;
  context: unknown;
  stream_mode: StreamMode[];
  subgraphs: boolean;
  /** No effect: the events of every run are stored. */
  resumable: boolean;
  interrupt_before: string[] | "*" | null;
  interrupt_after: string[] | "*" | null;
  durability: "sync" | "async" | "exit";
  /** Fails the run when no pending interrupt waits for its `command.resume`. */
  strict_resume?: boolean;
  /** Started by a command of the v2 protocol. */
  protocol?: "v2";
  webhook: string | null;
  feedback_keys: string[] | null;
  /** The thread is deleted when the run ends. */
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

/** Parameters of a request that creates a run, apart from its body. */
export type RunTarget = {
  deployment_id: string;
  /** `null` for a threadless run. */
  thread_id: string | null;
  /** All headers of the request. The run stores those that the agent's `http.configurable_headers` selects. */
  headers: Record<string, string>;
  origin: string;
  /** Set for crons and A2A tasks: a second request with the same id creates no second run. */
  run_id?: string;
  idempotency_key?: string | undefined;
  /** `If-Match`: see `RunRequest`. */
  after_run_id?: string | undefined;
  /** Set by commands of the v2 protocol. */
  protocol?: "v2";
  /** See `RunRequest`. */
  answers?: string[] | "input";
};

/** The call that creates a run. The object merges it with the metadata and the config of the thread. */
export type RunRequest = {
  run_id: string;
  assistant_id: string;
  graph_id: string;
  /** Its config and metadata have a lower priority than those of the thread and the request. */
  assistant: Pick<RunAssistant, "config" | "metadata">;
  revision: RevisionRef;
  created_by: Principal;
  metadata: Record<string, unknown>;
  kwargs: RunKwargs;
  multitask_strategy: MultitaskStrategy;
  after_seconds: number;
  /** Thread that is created when it does not exist. `null`: a missing thread refuses the run. */
  create_thread: NewThread | null;
  /** Ids of the interrupts that the run resumes. `"input"`: the run's input resumes any pending interrupt. */
  answers?: string[] | "input";
  /** The run is refused as outdated unless this is the newest run of the thread. */
  after_run_id?: string;
  /**
   * Set for a request with an idempotency key. `run_id` is derived from the key and the day. The other ids are those of
   * the key on the day before, and on the next day.
   */
  keyed?: { earlier_id: string; later_id: string; request_sha256: string };
};

export type RunRefusal =
  | "thread_missing"
  | "checkpoint_missing"
  | "busy"
  | "too_large"
  | "queue_full"
  | "key_reused"
  | "outdated"
  | "no_pending_interrupt"
  | "unknown_interrupt";

export type RunAcceptance<T> =
  | ({ ok: true; run: RunRecord } & T)
  | { ok: false; refusal: RunRefusal };

/** Result of a read or a change of a thread. `too_large`: the result or the changed value is over a limit. */
export type ThreadResult<T> =
  | ({ ok: true } & T)
  | { ok: false; refusal: "thread_missing" | "too_large" };

/** Runs to cancel. */
export type CancelChoice = {
  run_ids: string[] | null;
  /** Chooses runs when `run_ids` is `null`. */
  status: "pending" | "running" | "all";
  /** Excludes runs that were accepted after this time, in epoch milliseconds. */
  accepted_until?: number;
  /** See `LateCancellation`. */
  last_id?: string;
};

/** Cancels runs accepted until a time, in threads that the directory lists only after that time. */
export type LateCancellation = Pick<CancelChoice, "status"> & {
  /** Epoch milliseconds. */
  accepted_until: number;
  /** Id made at the time `accepted_until`: runs with a greater id are later ones. Earlier versions stored none. */
  last_id?: string;
  action: CancelAction;
  filters: Filters | null;
};

/**
 * Form of the result of a cancelled run: `null` for join. `{}` for wait, because its clients read a key of the result.
 */
export type ResultKind = "wait" | "join";

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
