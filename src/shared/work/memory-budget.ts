import { waitUntil } from "cloudflare:workers";
import { AppError } from "../errors.ts";

/** Reserves more bytes. Waits while other work holds the memory. */
export type Reserve = (bytes: number) => Promise<void>;

const POLL_MS = 5;
/** Maximum wait for memory. Clients wait 90 s for an answer. */
const MAX_WAIT_MS = 60_000;
const RETRY_AFTER_S = 2;

/**
 * Admission by bytes: bounds what the work of one isolate holds in memory at once. Work beyond the limit is admitted
 * one at a time, so that work larger than the limit ends as well.
 */
export class MemoryBudget {
  readonly #limit: number;
  readonly #maxWaitMs: number;
  /** Bytes of all work but the large one. */
  #held = 0;
  #large: symbol | null = null;

  constructor(limit: number, max_wait_ms = MAX_WAIT_MS) {
    this.#limit = limit;
    this.#maxWaitMs = max_wait_ms;
  }

  /** Holds the bytes that the work reserves until it ends or calls `release`. */
  async hold<T>(work: (reserve: Reserve, release: () => void) => Promise<T>): Promise<T> {
    const holder = Symbol();
    let bytes = 0;
    let isReleased = false;
    const release = () => {
      if (this.#large === holder) this.#large = null;
      else this.#held -= bytes;
      bytes = 0;
      isReleased = true;
    };
    const reserve = async (more: number) => {
      if (isReleased) return;
      await this.#wait(() => {
        const isAdmitted = this.#admits(holder, bytes, more);
        if (isAdmitted) bytes += more;
        return isAdmitted;
      });
    };
    const ended = work(reserve, release).finally(release);
    // Without `waitUntil`, the platform may end the work with its client: the bytes would never be released.
    waitUntil(ended.catch(() => {}));
    return ended;
  }

  #admits(holder: symbol, bytes: number, more: number): boolean {
    if (this.#large === holder) return true;
    if (this.#held + more <= this.#limit) {
      this.#held += more;
      return true;
    }
    if (this.#large !== null) return false;
    this.#large = holder;
    this.#held -= bytes;
    return true;
  }

  /** Polls, because an isolate does not continue a request from within another one. */
  async #wait(isAdmitted: () => boolean): Promise<void> {
    const until = Date.now() + this.#maxWaitMs;
    while (!isAdmitted()) {
      if (Date.now() >= until) throw busy();
      await scheduler.wait(POLL_MS);
    }
  }
}

/**
 * Budget for bodies and states in the memory of one isolate. One larger body is admitted beside it. Parsed, a body takes
 * 3.3 times its bytes of the 128 MB that the platform gives an isolate.
 */
export const ISOLATE_BUDGET = new MemoryBudget(8 * 1024 * 1024);

function busy(): AppError {
  const text = `Too many large requests at once: retry in ${RETRY_AFTER_S} s, or send smaller ones.`;
  return new AppError("unavailable", text, { retry_after_seconds: RETRY_AFTER_S });
}
