import type { Answer } from "../contract.ts";
import type { AgentProps } from "../environment-contract.ts";
import { toFailure } from "../failure.ts";
import { withServer } from "../globals/server.ts";
import { LoadError } from "../modules/agent-module.ts";
import { asCall } from "../tcp/calls.ts";

/**
 * Does `work` as a call of this isolate, in which the agent's code reaches its server. Returns an error as an answer:
 * RPC would drop its class and stack.
 * @throws LoadError
 */
export async function answer<T>(
  { props }: ExecutionContext<AgentProps>,
  work: () => Promise<T>,
): Promise<Answer<T>> {
  return asCall(async () => {
    try {
      return { ok: true, value: await withServer(props?.server, work) };
    } catch (error) {
      if (error instanceof LoadError) throw error;
      return { ok: false, error: toFailure(error) };
    }
  });
}
