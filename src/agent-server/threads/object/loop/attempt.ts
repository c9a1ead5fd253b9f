import { AppError } from "../../../../shared/errors.ts";
import { backoff } from "../../../../shared/work/backoff.ts";
import { isDelayed, type Loss } from "../../contract/run-decisions.ts";
import type { StoredRun } from "../../contract/stored-run.ts";
import { MAX_RUN_BYTES } from "../boundary/limits.ts";

/** The isolate waits 5 seconds for a last checkpoint and for clean-up. One second more is for messages on their way. */
const GRACE_MS = 6000;
const DELAY = { base_ms: 500, max_ms: 10_000 };

/** An attempt at a run. Commits of its isolate are refused once it is not the live attempt of its thread. */
export class RunAttempt {
  /**
   * Without its input and command: these must not be in memory while the isolate works, which may take an hour.
   */
  readonly run: StoredRun;
  /**
   * Whether the attempt is to run in quarantine, because the run may have ended the isolate of its previous attempt.
   */
  readonly isSuspect: boolean;
  /** Resolves with the first batch: the isolate has received the input and the state. */
  readonly begun = Promise.withResolvers<void>();
  readonly #cancelled = Promise.withResolvers<boolean>();
  /**
   * Epoch milliseconds until which clean-up of the agent's code may write to the store. 0 before the attempt is
   * cancelled or ends, -1 without a grace period.
   */
  #graceEnd = 0;
  #bytesLeft = MAX_RUN_BYTES;
  /** Set when the run is cancelled and its last checkpoint is awaited. */
  #stop: { ended: PromiseWithResolvers<void>; timer: ReturnType<typeof setTimeout> } | null = null;
  #whole: StoredRun | null;

  constructor(run: StoredRun, isSuspect: boolean) {
    this.run = { ...run, kwargs: { ...run.kwargs, input: null, command: null } };
    this.#whole = run;
    this.isSuspect = isSuspect;
  }

  /** Returns the run with its input and command. @throws Error at the second call: they are no longer kept */
  takeWhole(): StoredRun {
    const whole = this.#whole;
    if (whole === null) throw new Error("The isolate has been called");
    this.#whole = null;
    return whole;
  }

  /** Resolves to `true` when the run is cancelled, to `false` when the attempt ends before. */
  get cancelled(): Promise<boolean> {
    return this.#cancelled.promise;
  }

  /** Aborts the run. `grace`: whether the agent's code may still write to the store for `GRACE_MS`, to clean up. */
  cancel({ grace }: { grace: boolean }) {
    this.#graceEnd = grace ? Date.now() + GRACE_MS : -1;
    this.#cancelled.resolve(true);
  }

  /**
   * Aborts the run, whose isolate then sends its last checkpoint. `onLate` is called when none has come in `GRACE_MS`.
   */
  stop(onLate: () => void) {
    this.cancel({ grace: true });
    this.#stop ??= { ended: Promise.withResolvers(), timer: setTimeout(onLate, GRACE_MS) };
  }

  get isStopping(): boolean {
    return this.#stop !== null;
  }

  /** Resolves when the stop has ended, or at once when there is none. */
  async stopped(): Promise<void> {
    await this.#stop?.ended.promise;
  }

  endStop() {
    clearTimeout(this.#stop?.timer);
    this.#stop?.ended.resolve();
  }

  get isInGrace(): boolean {
    return Date.now() < this.#graceEnd;
  }

  /** @throws AppError when the attempt exceeds its limit of bytes */
  count(bytes: number) {
    this.#bytesLeft -= bytes;
    if (this.#bytesLeft >= 0) return;
    const message = `The run sent more than ${MAX_RUN_BYTES} bytes of events, checkpoints and traces, the limit of one attempt at a run: use fewer stream modes, or a smaller state.`;
    throw new AppError("too_large", message);
  }

  /** Ends the attempt, unless it was cancelled. Resolves `cancelled`, which the isolate may still await. */
  close() {
    if (this.#graceEnd === 0) this.#graceEnd = Date.now() + GRACE_MS;
    this.#cancelled.resolve(false);
  }
}

/** Delays the next attempt of a run after a loss. Other runs may have lost the same isolate and retry, too. */
export class RetryTimer {
  #timer: ReturnType<typeof setTimeout> | null = null;

  get isPending(): boolean {
    return this.#timer !== null;
  }

  start({ attempt }: StoredRun, losses: number, loss: Loss, retry: () => void) {
    const run = () => {
      this.#timer = null;
      retry();
    };
    clearTimeout(this.#timer ?? undefined);
    if (!isDelayed(attempt, losses, loss)) return run();
    // These losses are not counted in `losses`.
    const tries = loss === "outage" || loss === "main_process" ? attempt : Math.max(1, losses);
    this.#timer = setTimeout(run, backoff(DELAY, tries, Math.random()));
  }
}
