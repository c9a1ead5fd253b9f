import {
  agentIsolate,
  giveUpUnloaded,
} from "../../../control-plane/deployments/isolate/isolate.ts";
import type { AgentEntrypoint } from "../../../isolate/contract.ts";
import type { RevisionRef } from "../records.ts";

export type AgentStub = AgentEntrypoint;
type IsolateRef = RevisionRef & { quarantine?: string };

export function agentOf(env: Env, revision: IsolateRef): AgentStub {
  // The loader types every entrypoint as a Fetcher; src/isolate exports this one.
  return agentIsolate(env, revision) as unknown as AgentStub;
}

/** Calls the agent. After a failure an isolate that never loaded is not used again. */
export async function callAgent<T>(
  env: Env,
  revision: IsolateRef,
  call: (agent: AgentStub) => Promise<T>,
): Promise<T> {
  try {
    return await call(agentOf(env, revision));
  } catch (error) {
    giveUpUnloaded(revision);
    throw error;
  }
}
