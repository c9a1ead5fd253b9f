import { log } from "../log.ts";
import { withTimeout } from "./timeout.ts";

type Renewal = {
  interval_ms: number;
  /** @returns whether the work is still this attempt's */
  renew(): Promise<boolean>;
  /** Reason of the abort. */
  lost(): Error;
  /** A missed renewal also aborts when no renewal has succeeded for this long. */
  lease_ms?: number;
};

type Heartbeat = { signal: AbortSignal; lost: Promise<never>; stop(): void };

function hang(): never {
  throw new Error("The renewal did not answer");
}

/** Renews a lease until it is stopped. When the lease is lost, the signal aborts and `lost` rejects. */
export function startHeartbeat(renewal: Renewal): Heartbeat {
  const { interval_ms, renew, lease_ms = Number.POSITIVE_INFINITY } = renewal;
  const controller = new AbortController();
  const { promise: lost, reject } = Promise.withResolvers<never>();
  // The work may be over before anyone waits for this promise.
  lost.catch(() => undefined);
  const lose = () => {
    const reason = renewal.lost();
    controller.abort(reason);
    reject(reason);
  };
  let renewed_at = Date.now();
  const renewFrom = async (started_at: number) => {
    if (await renew()) renewed_at = Math.max(renewed_at, started_at);
    else lose();
  };
  const beat = async () => {
    try {
      // A call that takes longer than the interval is logged as missed. A late answer still counts as a renewal.
      await withTimeout(renewFrom(Date.now()), interval_ms, hang);
    } catch (error) {
      log.error("heartbeat_missed", error);
      if (Date.now() - renewed_at >= lease_ms) lose();
    }
  };
  const timer = setInterval(() => void beat(), interval_ms);
  return { signal: controller.signal, lost, stop: () => clearInterval(timer) };
}
