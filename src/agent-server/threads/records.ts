import type { AgentFailure, StreamMode, WireCommand, WireConfig } from "../../isolate/contract.ts";
import type { AgentUser, Caller } from "../../shared/context.ts";
import type { RunAssistant } from "./assistants.ts";
import type { MultitaskStrategy, RunStatus, ThreadStatus } from "./runs.ts";
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

/** What a run was asked to do: shown as `kwargs`, and all that an attempt needs. */
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
  /** Absent from runs that came before it was kept. */
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
  /** Null, or absent: it is kept. */
  ttl?: Ttl | null;
  deployment_id: string;
  workspace_id: string;
  metadata: Record<string, unknown>;
  temporary: boolean;
};

/** What a run changes of the thread it takes, as it was before. */
export type ThreadBefore = Pick<ThreadRecord, "status" | "config" | "error"> & {
  /** The graph and the assistant of the run before, where there was one. */
  served_by: { graph_id?: unknown; assistant_id?: unknown };
  revision: RevisionRef | null;
};

/** Whose run it is, the origin at which they called, and as whom of the agent's users. */
export type Principal = { caller: Caller; origin: string; user?: AgentUser };

/** A run as the service hands it over: assistant resolved, defaults filled in, not yet merged with the thread. */
export type RunRequest = {
  run_id: string;
  assistant_id: string;
  graph_id: string;
  /** What the assistant adds beneath the thread and the run. */
  assistant: Pick<RunAssistant, "config" | "metadata">;
  revision: RevisionRef;
  created_by: Principal;
  metadata: Record<string, unknown>;
  kwargs: RunKwargs;
  multitask_strategy: MultitaskStrategy;
  after_seconds: number;
  /** Create the thread with the run when it is not there. */
  create_thread: NewThread | null;
  /** The questions of the thread that it answers; `input`: what is asked by then, if anything, is answered by its input. */
  answers?: string[] | "input";
};

/** Which runs of a thread to cancel. */
export type CancelChoice = {
  run_ids: string[] | null;
  /** Where no run is named. */
  status: "pending" | "running" | "all";
};

/** The thread that a run is for, `null` for a new one, and the request's headers, of which a run keeps some. */
export type RunTarget = {
  deployment_id: string;
  thread_id: string | null;
  headers: Record<string, string>;
  origin: string;
  /** Idempotency key of the run. */
  run_id?: string;
  /** Set by commands of the v2 protocol. */
  protocol?: "v2";
  answers?: string[] | "input";
};

export type RunRefusal =
  | "thread_missing"
  | "busy"
  | "too_large"
  /** The thread waits for no answer. */
  | "no_pending_interrupt"
  /** It waits for another one. */
  | "unknown_interrupt";

export type Accepted<T> = ({ ok: true; run: RunRecord } & T) | { ok: false; refusal: RunRefusal };

/** What a reader of a run's stream asks for: events after an id, of some modes and graphs, and whether leaving cancels. */
export type StreamChoice = {
  /** The id that was seen last; -1 for all. */
  after: number;
  modes: string[] | null;
  /** Of which graphs: "" is the root, `a:1|b:2` a graph below it; null: of all. */
  namespaces: string[] | null;
  cancel_on_disconnect: boolean;
  /** Where the run has told of this checkpoint, only what it told later. */
  checkpoint_id?: string | undefined;
};
