// Calls to entrypoints of this Worker that import this feature: an import would be a circle. The process that runs
// isolates on one machine has entrypoints with the same names.
import { exports } from "cloudflare:workers";

export type ServerProps = PropsOf<typeof exports.AgentServer>;
type PropsOf<Entrypoint extends (options: never) => unknown> = NonNullable<
  NonNullable<Parameters<Entrypoint>[0]>["props"]
>;

/** The agent server of a deployment, for clients in the agent's code and for the routes of its app. */
export function agentServer(props: ServerProps) {
  return exports.AgentServer({ props });
}

/** The only way out of an isolate. */
export function agentEgress(props: PropsOf<typeof exports.Egress>) {
  return exports.Egress({ props });
}

/** The log of an agent. */
export function agentTail(props: PropsOf<typeof exports.AgentTail>) {
  return exports.AgentTail({ props });
}
