import { log } from "../../../shared/log.ts";
import { type Build, LeaseLost, renewLease } from "../../deployments/rollout/build-service.ts";

const BEAT_MS = 4000;

/** Beats until it is stopped; `lost` rejects when another attempt has taken over. */
export function keepLease(env: Env, build: Build): { lost: Promise<never>; stop(): void } {
  const { promise: lost, reject } = Promise.withResolvers<never>();
  // The attempt may be over before anyone waits for this.
  lost.catch(() => undefined);
  const beat = async () => {
    try {
      if (!(await renewLease(env, build, new Date()))) reject(new LeaseLost(build));
    } catch (error) {
      log.error("lease_not_renewed", error, { revision_id: build.id });
    }
  };
  const timer = setInterval(() => void beat(), BEAT_MS);
  return { lost, stop: () => clearInterval(timer) };
}
