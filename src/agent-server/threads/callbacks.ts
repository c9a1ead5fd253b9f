// Calls of features through entrypoints of this Worker. The features import the threads: a direct import would be
// circular.
import { exports } from "cloudflare:workers";

type SessionProps = NonNullable<NonNullable<Parameters<typeof exports.ThreadSession>[0]>["props"]>;
type TokenProps = NonNullable<NonNullable<Parameters<typeof exports.AgentTokens>[0]>["props"]>;

export function endThreadCrons(deployment_id: string, thread_id: string): Promise<void> {
  return exports.ThreadCrons({}).end(deployment_id, thread_id);
}

export function endAssistantCrons(deployment_id: string, assistant_id: string): Promise<void> {
  return exports.ThreadCrons({}).endOfAssistant(deployment_id, assistant_id);
}

/** Returns the session of a socket or a stream. Its calls have the permissions that the principal has now. */
export function threadSession(props: SessionProps) {
  return exports.ThreadSession({ props });
}

/** Returns the entrypoint for the OAuth tokens of a run's principal. */
export function agentTokens(props: TokenProps) {
  return exports.AgentTokens({ props });
}
