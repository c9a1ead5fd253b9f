import { log } from "../../shared/log.ts";
import { BEAT_MS, LEASE_MS } from "../limits.ts";

type Renewal = {
  /** Whether the work is still ours to do. */
  renew(): Promise<boolean>;
  /** What the signal aborts with. */
  over(): Error;
};

type Beat = { signal: AbortSignal; stop(): void };

/**
 * Renews every few seconds until it is stopped. The signal aborts when the work is another's, or
 * nobody's, by now; also when that could not be asked for as long as a lease lasts.
 */
export function startBeat({ renew, over }: Renewal): Beat {
  const lost = new AbortController();
  let renewed_at = Date.now();
  const beat = async () => {
    const asked_at = Date.now();
    try {
      if (!(await renew())) return lost.abort(over());
      renewed_at = asked_at;
    } catch (error) {
      log.error("beat_missed", error);
      if (Date.now() - renewed_at >= LEASE_MS) lost.abort(over());
    }
  };
  const timer = setInterval(() => void beat(), BEAT_MS);
  return { signal: lost.signal, stop: () => clearInterval(timer) };
}
