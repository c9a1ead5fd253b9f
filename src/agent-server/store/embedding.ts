import { parseAnswer } from "../../control-plane/deployments/isolate/agent-answers.ts";
import { agentIsolate } from "../../control-plane/deployments/isolate/isolate.ts";
import type { AgentEntrypoint } from "../../isolate/contract.ts";
import type { EmbedCall, Embedded } from "../../isolate/store-contract.ts";
import { AppError } from "../../shared/errors.ts";
import { embeddedAnswer } from "./boundary.ts";

type RevisionRef = { deployment_id: string; revision_id: string; secrets_version: number };

/** Has the agent's own function turn texts into vectors, in the isolate of the revision. */
export async function embed(env: Env, revision: RevisionRef, call: EmbedCall): Promise<Embedded> {
  // The loader types every entrypoint as a Fetcher; src/isolate exports this one.
  const agent = agentIsolate(env, revision) as unknown as AgentEntrypoint;
  const answer = parseAnswer("embed", embeddedAnswer(call), await agent.embed(call));
  if (answer.ok) return answer.value;
  throw new AppError("unavailable", `store.index.embed: ${answer.error.message}`);
}
