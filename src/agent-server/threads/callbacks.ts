// Calls of this Worker's entrypoints whose features import this one: a direct import would be circular.
import { exports } from "cloudflare:workers";

type SessionProps = NonNullable<NonNullable<Parameters<typeof exports.ThreadSession>[0]>["props"]>;
type TokenProps = NonNullable<NonNullable<Parameters<typeof exports.AgentTokens>[0]>["props"]>;

export function endThreadCrons(deployment_id: string, thread_id: string): Promise<void> {
  return exports.ThreadCrons({}).end(deployment_id, thread_id);
}

export function endAssistantCrons(deployment_id: string, assistant_id: string): Promise<void> {
  return exports.ThreadCrons({}).endOfAssistant(deployment_id, assistant_id);
}

/** The session of a socket or a stream, with the permissions that its principal has now. */
export function threadSession(props: SessionProps) {
  return exports.ThreadSession({ props });
}

/** The OAuth tokens of the principal of a run. */
export function agentTokens(props: TokenProps) {
  return exports.AgentTokens({ props });
}
