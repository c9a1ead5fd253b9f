import { AppError } from "../../../shared/errors.ts";
import { MAX_RUN_BYTES } from "../boundary/limits.ts";
import type { StoredRun } from "../storage/run-rows.ts";

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
