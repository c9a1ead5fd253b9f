import { AppError } from "../../../../shared/errors.ts";
import { ISOLATE_BUDGET } from "../../../../shared/work/memory-budget.ts";
import { withTimeout } from "../../../../shared/work/timeout.ts";

/**
 * Maximum time for which a call of an agent holds the bytes of its state. The agent's code may take longer, while other
 * tenants wait for the bytes.
 */
const MAX_HOLD_MS = 10_000;

/**
 * Calls an agent with a state, once the isolate of this object admits its bytes. They are released when the call or
 * `taken` settles, at the latest after `MAX_HOLD_MS`. `taken` resolves when the agent has the state. A state of 0 bytes
 * does not wait.
 * @throws AppError 503 when the isolate of this object has no room for a minute
 */
export async function admitState<T>(
  bytes: number,
  call: () => Promise<T>,
  taken?: Promise<unknown>,
): Promise<T> {
  if (bytes === 0) return call();
  // An object, because a promise of a promise would be awaited here.
  const started = await new Promise<{ result: Promise<T> }>((resolve, reject) => {
    const hold = ISOLATE_BUDGET.hold(async (reserve) => {
      await reserve(bytes);
      const result = call();
      resolve({ result });
      const answer = Promise.race([result, taken ?? result]);
      await withTimeout<unknown>(answer, MAX_HOLD_MS, () => null).catch(() => {});
    });
    hold.catch(reject);
  });
  return started.result;
}

/** Whether the isolate of this object refused admission. Errors of agents are no `AppError`: RPC drops their class. */
export function isMemoryFull(error: unknown): boolean {
  return error instanceof AppError && error.code === "unavailable";
}
