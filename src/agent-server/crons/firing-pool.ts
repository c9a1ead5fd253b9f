import { withTimeout } from "../../shared/work/timeout.ts";
import { FIRING_BYTES, FIRINGS_AT_ONCE, IN_FLIGHT_BYTES, SLOW_MS } from "./limits.ts";

/** Interval at which `settle` checks for other work. */
const LOOK_MS = 1000;

/** `fire`: must have a deadline, as the pool waits for its end. */
type PooledFiring = { cron_id: string; bytes: number; fire: () => Promise<void> };

/** The firings under way of a deployment. A slow one delays others only when `IN_FLIGHT_BYTES` are reached. */
export class FiringPool {
  readonly #inFlight = new Set<string>();
  #bytes = 0;
  /** Firings under way that are not slow. */
  #quick = 0;
  #failure: unknown = null;
  #wake: () => void = () => undefined;

  /** Ids of the crons whose firings are under way. */
  cronIds(): string[] {
    return [...this.#inFlight];
  }

  /** Starts the firings in their order. Starts only one at first: it fills the caches that the others read. */
  async start(firings: Iterable<PooledFiring>): Promise<void> {
    this.#failure = null;
    let limit = 1;
    for (const firing of firings) {
      while (this.#quick >= limit || !this.#hasRoom(firing)) await this.#change();
      void this.#begin(firing);
      if (limit === 1) while (this.#quick > 0) await this.#change();
      limit = FIRINGS_AT_ONCE;
    }
  }

  /**
   * Waits until all firings have ended, or until other work is due.
   * @throws the error of a firing whose result could not be stored
   */
  async settle(isOtherDue: () => boolean): Promise<void> {
    let lookAt = 0;
    while (this.#inFlight.size > 0) {
      if (Date.now() >= lookAt) {
        if (isOtherDue()) break;
        lookAt = Date.now() + LOOK_MS;
      }
      await withTimeout(this.#change(), LOOK_MS, () => undefined);
    }
    if (this.#failure !== null) throw this.#failure;
  }

  async #begin({ cron_id, bytes, fire }: PooledFiring): Promise<void> {
    this.#inFlight.add(cron_id);
    this.#bytes += FIRING_BYTES + bytes;
    this.#quick += 1;
    const firing = fire().catch((error: unknown) => {
      this.#failure ??= error;
    });
    await withTimeout(firing, SLOW_MS, () => undefined);
    this.#quick -= 1;
    this.#wake();
    await firing;
    this.#inFlight.delete(cron_id);
    this.#bytes -= FIRING_BYTES + bytes;
    this.#wake();
  }

  #hasRoom({ bytes }: PooledFiring): boolean {
    return this.#inFlight.size === 0 || this.#bytes + FIRING_BYTES + bytes <= IN_FLIGHT_BYTES;
  }

  /** Resolves when a firing becomes slow or ends. For one caller at a time: alarms of an object do not overlap. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
