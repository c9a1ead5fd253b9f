import { agentIsolate } from "../deployments/isolate.ts";
import type { AgentEntrypoint } from "../isolate/contract.ts";
import type { RevisionRef } from "./records.ts";

export type AgentStub = AgentEntrypoint;

/** The loaded isolate of a revision as the entrypoint it exports. */
export function agentOf(env: Env, revision: RevisionRef): AgentStub {
  // The loader types every entrypoint as a Fetcher; src/isolate exports this one.
  return agentIsolate(env, revision) as unknown as AgentStub;
}
