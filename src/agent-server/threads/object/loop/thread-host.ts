import { RpcTarget } from "cloudflare:workers";
import type { LoadedCheckpoint } from "../../../../isolate/checkpoint-contract.ts";
import type { AuthAnswer, Host } from "../../../../isolate/contract.ts";
import type { StoreAnswer } from "../../../../isolate/store-contract.ts";
import { AppError } from "../../../../shared/errors.ts";
import { applyToStore } from "../../../store/service.ts";
import type { StoredRun } from "../../contract/stored-run.ts";
import {
  parseAuthenticateBody,
  parseCheckpointQuery,
  parseCheckpointRef,
} from "../boundary/calls.ts";
import { ReadPace } from "../boundary/read-pace.ts";
import type { ThreadStore } from "../storage/store.ts";

/** `ops` come from the agent's code: the function parses them. */
type Commit = (ops: unknown) => void;
type Authenticate = (body: string) => Promise<AuthAnswer>;
type ApplyToStore = (ops: unknown) => Promise<StoreAnswer>;

type Untrusted<T> = {
  [K in keyof T]: T[K] extends (...args: infer A) => infer R
    ? (...args: { [N in keyof A]: unknown }) => R
    : never;
};

/**
 * Host of a call to an isolate. `commit` is `null` for calls that only read. The agent's code can pass any arguments to
 * the methods, so each argument is parsed first.
 */
export class ThreadHost extends RpcTarget implements Untrusted<Host> {
  readonly #store: ThreadStore;
  readonly #commit: Commit | null;
  readonly #cancelled: Promise<boolean>;
  readonly #authenticate: Authenticate | null;
  readonly #applyToStore: ApplyToStore | null;
  readonly #pace = new ReadPace();
  /** The thread of the call. The object may have another thread later. */
  readonly #thread_id: string;

  constructor(
    store: ThreadStore,
    commit: Commit | null,
    cancelled = Promise.resolve(false),
    authenticate: Authenticate | null = null,
    applyToStore: ApplyToStore | null = null,
  ) {
    super();
    this.#store = store;
    this.#thread_id = store.thread.id;
    this.#commit = commit;
    this.#cancelled = cancelled;
    this.#authenticate = authenticate;
    this.#applyToStore = applyToStore;
  }

  /**
   * `confirm` settles when the isolate has every answer of the host that was sent before. Only the local stack has one.
   * Static, because the agent can call each method.
   */
  static confirmReads(host: ThreadHost, confirm: () => Promise<unknown>): void {
    host.#pace.confirm = confirm;
  }

  async commit(ops: unknown): Promise<void> {
    if (!this.#commit) throw new AppError("conflict", "This call is read-only.");
    this.#commit(ops);
  }

  async readCheckpoint(ns: unknown, checkpoint_id: unknown): Promise<LoadedCheckpoint | null> {
    const ref = parseCheckpointRef(ns, checkpoint_id);
    return this.#paced(() => this.#store.checkpoints.read(...ref));
  }

  async listCheckpoints(query: unknown): Promise<LoadedCheckpoint[]> {
    const parsed = parseCheckpointQuery(query);
    return this.#paced(() => this.#store.checkpoints.list(parsed));
  }

  async #paced<T extends LoadedCheckpoint | LoadedCheckpoint[] | null>(read: () => T): Promise<T> {
    if (!this.#store.exists || this.#store.thread.id !== this.#thread_id)
      throw new AppError("conflict", "The thread of this call was deleted.");
    return this.#pace.read(this.#store.thread.header().workspace_id, read);
  }

  async authenticate(body: unknown): Promise<AuthAnswer> {
    if (!this.#authenticate) throw new AppError("conflict", "This call has no run.");
    return this.#authenticate(parseAuthenticateBody(body));
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

/** Applies store operations for the deployment of the run that `runOf` returns. `runOf` throws to refuse them. */
export function applierFor(env: Env, runOf: () => StoredRun): ApplyToStore {
  return async (ops) => applyToStore(env, runOf().revision.deployment_id, ops);
}
