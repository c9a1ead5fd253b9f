import {
  agentIsolate,
  giveUpUnloaded,
} from "../../../control-plane/deployments/isolate/isolate.ts";
import type { AgentEntrypoint } from "../../../isolate/contract.ts";
import type { RevisionRef } from "../records.ts";

export type AgentStub = AgentEntrypoint;
type IsolateRef = RevisionRef & { quarantine?: string };

/** The loaded isolate of a revision as the entrypoint it exports. */
export function agentOf(env: Env, revision: IsolateRef): AgentStub {
  // The loader types every entrypoint as a Fetcher; src/isolate exports this one.
  return agentIsolate(env, revision) as unknown as AgentStub;
}

/** Asks the agent. What is lost with an isolate that never came up is not lost again the same way. */
export async function callAgent<T>(
  env: Env,
  revision: IsolateRef,
  ask: (agent: AgentStub) => Promise<T>,
): Promise<T> {
  try {
    return await ask(agentOf(env, revision));
  } catch (error) {
    giveUpUnloaded(revision);
    throw error;
  }
}
