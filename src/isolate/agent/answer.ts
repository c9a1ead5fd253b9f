import type { Answer } from "../contract.ts";
import { toFailure } from "../failure.ts";
import { asCall } from "../tcp/calls.ts";

/** Does `work` as a call of this isolate. Its error is an answer: RPC would drop the class and the stack. */
export async function answer<T>(work: () => Promise<T>): Promise<Answer<T>> {
  return asCall(async () => {
    try {
      return { ok: true, value: await work() };
    } catch (error) {
      return { ok: false, error: toFailure(error) };
    }
  });
}
