import type { StackInfo } from "../../local/stack.ts";
import { SOAK_NAME } from "./agent.ts";
import type { ThreadCase } from "./cases.ts";
import type { Server } from "./server.ts";
import { checkTraces } from "./traces.ts";

const ARM_MS = 1000;

/**
 * Makes a share of the calls of D1 and R2, or of `store` alone, fail until `stop`, also after the Worker was killed.
 */
export function startFaults(info: StackInfo, share: number, store?: "D1" | "R2") {
  let [failures, before] = [0, 0];
  const arm = async () => {
    const url = `${info.base_url}/soak/faults?share=${share}${store ? `&store=${store}` : ""}`;
    const answer = await fetch(url, { method: "PUT" }).catch(() => null);
    if (!answer?.ok) return;
    const seen = ((await answer.json()) as { failures: number }).failures;
    // A Worker that was killed counts from zero.
    if (seen < before) failures += before;
    before = seen;
  };
  const timer = setInterval(() => void arm(), ARM_MS);
  return {
    get failures() {
      return failures + before;
    },
    /** Checks the traces of runs that are over, while calls fail. */
    checkTraces: (server: Server, cases: readonly ThreadCase[]) =>
      checkTraces(info, SOAK_NAME, server, cases),
    /** Resolves when no call fails any more. */
    async stop() {
      clearInterval(timer);
      share = 0;
      await arm();
    },
  };
}
