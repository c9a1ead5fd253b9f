import { RpcTarget } from "cloudflare:workers";
import type {
  AuthAnswer,
  GraphCall,
  Host,
  LoadedCheckpoint,
  RunCall,
  WireConfig,
} from "../../../isolate/contract.ts";
import type { StoreAnswer } from "../../../isolate/store-contract.ts";
import type { AgentUser } from "../../../shared/context.ts";
import { AppError } from "../../../shared/errors.ts";
import { applyToStore } from "../../store/service.ts";
import { parseBody, parseQuery, parseRef } from "../boundary/calls.ts";
import { MAX_RUN_BYTES } from "../boundary/limits.ts";
import { ReadPace } from "../boundary/read-pace.ts";
import type { ThreadRecord } from "../records.ts";
import type { StoredRun } from "../storage/run-rows.ts";
import type { ThreadStore } from "../storage/store.ts";
import { beginTrace, toTrace } from "../storage/trace-roots.ts";

/** The isolate ends its work after as long; the rest is for messages on their way. */
const GRACE_MS = 6000;

/** An attempt at a run. Its number is a fencing token: calls of older attempts are refused. */
export class RunAttempt {
  readonly run: StoredRun;
  /** Whether the attempt before lost its isolate. */
  readonly isSuspect: boolean;
  readonly #cancelled = Promise.withResolvers<boolean>();
  /** End of the time in which clean-up of the agent's code may write to the store. */
  #graceEnd = 0;
  #bytesLeft = MAX_RUN_BYTES;

  constructor(run: StoredRun, isSuspect: boolean) {
    this.run = run;
    this.isSuspect = isSuspect;
  }

  get cancelled(): Promise<boolean> {
    return this.#cancelled.promise;
  }

  /** Aborts the run. Its code may clean up for a while, unless the run was refused or its thread is deleted. */
  cancel({ grace }: { grace: boolean }) {
    this.#graceEnd = grace ? Date.now() + GRACE_MS : -1;
    this.#cancelled.resolve(true);
  }

  get isInGrace(): boolean {
    return Date.now() < this.#graceEnd;
  }

  /** @throws AppError when the attempt exceeds its limit of bytes */
  count(bytes: number) {
    this.#bytesLeft -= bytes;
    if (this.#bytesLeft >= 0) return;
    const message = `The run sent more than ${MAX_RUN_BYTES} bytes of events, checkpoints and traces, the limit of a run: use fewer stream modes, or a smaller state.`;
    throw new AppError("too_large", message);
  }

  /** Resolves `cancelled`, which the isolate may still await. */
  close() {
    if (this.#graceEnd === 0) this.#graceEnd = Date.now() + GRACE_MS;
    this.#cancelled.resolve(false);
  }
}

/** Arguments come from the agent's code and are parsed by the callee. */
type Commit = (ops: unknown) => void;
type Authenticate = (body: string) => Promise<AuthAnswer>;
type ApplyToStore = (ops: unknown) => Promise<StoreAnswer>;

type Untrusted<T> = {
  [K in keyof T]: T[K] extends (...args: infer A) => infer R
    ? (...args: { [N in keyof A]: unknown }) => R
    : never;
};

/**
 * Host of a call to an isolate. Calls that only read have no commit. The agent's code can call it with any
 * arguments, so each is parsed first.
 */
export class ThreadHost extends RpcTarget implements Untrusted<Host> {
  readonly #store: ThreadStore;
  readonly #commit: Commit | null;
  readonly #cancelled: Promise<boolean>;
  readonly #authenticate: Authenticate | null;
  readonly #applyToStore: ApplyToStore | null;
  readonly #pace = new ReadPace();

  constructor(
    store: ThreadStore,
    commit: Commit | null,
    cancelled = Promise.resolve(false),
    authenticate: Authenticate | null = null,
    applyToStore: ApplyToStore | null = null,
  ) {
    super();
    this.#store = store;
    this.#commit = commit;
    this.#cancelled = cancelled;
    this.#authenticate = authenticate;
    this.#applyToStore = applyToStore;
  }

  async commit(ops: unknown): Promise<void> {
    if (!this.#commit) throw new AppError("conflict", "This call is read-only.");
    this.#commit(ops);
  }

  async readCheckpoint(ns: unknown, checkpoint_id: unknown): Promise<LoadedCheckpoint | null> {
    const ref = parseRef(ns, checkpoint_id);
    return this.#paced(() => this.#store.checkpoints.read(...ref));
  }

  async listCheckpoints(query: unknown): Promise<LoadedCheckpoint[]> {
    const parsed = parseQuery(query);
    return this.#paced(() => this.#store.checkpoints.list(parsed));
  }

  #paced<T extends LoadedCheckpoint | LoadedCheckpoint[] | null>(read: () => T): Promise<T> {
    return this.#pace.read(this.#store.thread.header().workspace_id, read);
  }

  async authenticate(body: unknown): Promise<AuthAnswer> {
    if (!this.#authenticate) throw new AppError("conflict", "This call has no run.");
    return this.#authenticate(parseBody(body));
  }

  async store(ops: unknown): Promise<StoreAnswer> {
    if (this.#applyToStore) return this.#applyToStore(ops);
    const message = "The store is only available to runs and state updates.";
    return { ok: false, refusal: { code: "invalid_request", message } };
  }

  cancelled(): Promise<boolean> {
    return this.#cancelled;
  }
}

/** Applies store operations for the deployment of a run, as long as `runOf` allows it. */
export function applierFor(env: Env, runOf: () => StoredRun): ApplyToStore {
  return async (ops) => applyToStore(env, runOf().revision.deployment_id, ops);
}

export function toRunCall(run: StoredRun, store: ThreadStore): RunCall {
  const { kwargs, run_id, thread_id, graph_id } = run;
  const resuming = run.attempt > 1 && store.checkpoints.hasAnyOf(run_id);
  return {
    run_id,
    thread_id,
    graph_id,
    resuming,
    input: kwargs.input,
    command: kwargs.command,
    strict_resume: kwargs.strict_resume === true,
    config: withUser(withAttempt(kwargs.config, run.attempt, resuming), run.created_by.user),
    context: kwargs.context,
    stream_modes: kwargs.stream_mode,
    stream_subgraphs: kwargs.subgraphs,
    short_forms: kwargs.protocol === "v2",
    interrupt_before: kwargs.interrupt_before,
    interrupt_after: kwargs.interrupt_after,
    durability: kwargs.durability,
    head: store.checkpoints.read("", null),
    trace: toTrace(run, store.traces.getOpen(run_id) ?? beginTrace(run, run.created_at)),
  };
}

function withAttempt(
  config: RunCall["config"],
  run_attempt: number,
  resuming: boolean,
): RunCall["config"] {
  // A run that resumes from its own checkpoint must not fork from the requested one again.
  const { checkpoint_id, ...configurable } = config.configurable ?? {};
  const from = !resuming && checkpoint_id ? { checkpoint_id } : {};
  return {
    ...config,
    configurable: { ...configurable, ...from },
    metadata: { ...config.metadata, run_attempt },
  };
}

export function toGraphCall(
  thread: Pick<ThreadRecord, "thread_id" | "metadata" | "config">,
): GraphCall | null {
  const { graph_id } = thread.metadata;
  if (typeof graph_id !== "string") return null;
  const config = withUser(thread.config, undefined);
  return { graph_id, thread_id: thread.thread_id, config, context: null };
}

/** Sets the keys that graphs read the user from, and drops keys of clients with the same prefix. */
function withUser(config: WireConfig, user: AgentUser | undefined): WireConfig {
  const own = Object.entries(config.configurable ?? {}).filter(
    ([key]) => !key.startsWith(USER_KEY_PREFIX),
  );
  const userFields = user && {
    langgraph_auth_user: user,
    langgraph_auth_user_id: user.identity,
    langgraph_auth_permissions: user.permissions,
  };
  return { ...config, configurable: { ...Object.fromEntries(own), ...userFields } };
}

const USER_KEY_PREFIX = "langgraph_auth_";
