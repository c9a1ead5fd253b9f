import type { RevisionRef } from "../contract/records.ts";
import type { StateAnswer } from "../contract/state-answers.ts";
import type { LiveThread } from "./live-thread.ts";
import { type HistoryPart, type StatePart, ThreadStates, type UpdatePart } from "./loop/states.ts";

/**
 * Methods of the RPC for the state of a thread. `active`: the revision for a thread without runs. A thread that does not
 * exist, has ended or is an incomplete copy is `thread_missing`.
 */
export class StateMethods {
  readonly #thread: LiveThread;
  readonly #states: ThreadStates;

  constructor(env: Env, thread: LiveThread) {
    this.#thread = thread;
    this.#states = new ThreadStates(env, thread.store, () => thread.changed());
  }

  async getState(call: StatePart, active: RevisionRef): Promise<StateAnswer> {
    return this.#thread.openVisible()
      ? this.#states.get(call, active)
      : { ok: false, error: "thread_missing" };
  }

  async getHistory(call: HistoryPart, active: RevisionRef): Promise<StateAnswer> {
    return this.#thread.openVisible()
      ? this.#states.history(call, active)
      : { ok: false, error: "thread_missing" };
  }

  /** Resolves when the directory has the change, or is unavailable. */
  async updateState(call: UpdatePart, active: RevisionRef): Promise<StateAnswer> {
    if (!this.#thread.openVisible()) return { ok: false, error: "thread_missing" };
    const answer = await this.#states.update(call, active);
    await this.#thread.alarm.publish();
    return answer;
  }
}
