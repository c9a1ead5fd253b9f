import { AppError } from "../../../../shared/errors.ts";
import { backoff } from "../../../../shared/work/backoff.ts";
import { isDelayed, type Loss } from "../../contract/run-decisions.ts";
import type { StoredRun } from "../../contract/stored-run.ts";
import { MAX_RUN_BYTES } from "../boundary/limits.ts";

/** The isolate ends clean-up after 5 seconds; the rest is for messages on their way. */
const GRACE_MS = 6000;
const DELAY = { base_ms: 500, max_ms: 10_000 };

/** An attempt at a run. Calls of its isolate are refused once it is not the live attempt of its thread. */
export class RunAttempt {
  /**
   * Without its input and command: these must not be in memory while the isolate works, which takes an hour or more.
   */
  readonly run: StoredRun;
  /** Whether the attempt runs in quarantine: the run may have ended the isolate of the attempt before. */
  readonly isSuspect: boolean;
  /** Resolves with the first batch: the isolate has its input and the state. */
  readonly begun = Promise.withResolvers<void>();
  readonly #cancelled = Promise.withResolvers<boolean>();
  /** End of the time in which clean-up of the agent's code may write to the store, 0 before the attempt has ended. */
  #graceEnd = 0;
  #bytesLeft = MAX_RUN_BYTES;
  /** Set when the run is cancelled, and its isolate still has to send the steps that have ended. */
  #stop: { ended: PromiseWithResolvers<void>; timer: ReturnType<typeof setTimeout> } | null = null;
  #whole: StoredRun | null;

  constructor(run: StoredRun, isSuspect: boolean) {
    this.run = { ...run, kwargs: { ...run.kwargs, input: null, command: null } };
    this.#whole = run;
    this.isSuspect = isSuspect;
  }

  /** Returns the run with its input, once. */
  takeWhole(): StoredRun {
    const whole = this.#whole;
    if (whole === null) throw new Error("The isolate has been called");
    this.#whole = null;
    return whole;
  }

  get cancelled(): Promise<boolean> {
    return this.#cancelled.promise;
  }

  /** Aborts the run. Its code may clean up for a while, unless the run was refused or its thread is deleted. */
  cancel({ grace }: { grace: boolean }) {
    this.#graceEnd = grace ? Date.now() + GRACE_MS : -1;
    this.#cancelled.resolve(true);
  }

  /** Aborts the run and waits for what its isolate sends last. `onLate` is called when nothing comes. */
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
    const message = `The run sent more than ${MAX_RUN_BYTES} bytes of events, checkpoints and traces, the limit of a run: use fewer stream modes, or a smaller state.`;
    throw new AppError("too_large", message);
  }

  /** Ends the attempt, if it has not ended. Resolves `cancelled`, which the isolate may still await. */
  close() {
    if (this.#graceEnd === 0) this.#graceEnd = Date.now() + GRACE_MS;
    this.#cancelled.resolve(false);
  }
}

/** Delays the next attempt of a run that lost its isolate, which other runs may have lost too. */
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
    // Losses without a culprit are not counted in `losses`.
    const tries = loss === "outage" || loss === "main_process" ? attempt : Math.max(1, losses);
    this.#timer = setTimeout(run, backoff(DELAY, tries, Math.random()));
  }
}
