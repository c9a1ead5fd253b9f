// Calls entrypoints of this Worker by `exports`, because importing them would be circular: they import this feature. In
// the local stack, the process that runs isolates has entrypoints with the same names.
import { exports } from "cloudflare:workers";

export type ServerProps = PropsOf<typeof exports.AgentServer>;
type PropsOf<Entrypoint extends (options: never) => unknown> = NonNullable<
  NonNullable<Parameters<Entrypoint>[0]>["props"]
>;

/** Returns the agent server of a deployment, for clients in the agent's code and for its HTTP app. */
export function agentServer(props: ServerProps) {
  return exports.AgentServer({ props });
}

/** Returns the `globalOutbound` of an isolate, which checks each of its requests to the network. */
export function agentEgress(props: PropsOf<typeof exports.Egress>) {
  return exports.Egress({ props });
}

/** Returns the receiver of an agent's log lines. */
export function agentTail(props: PropsOf<typeof exports.AgentTail>) {
  return exports.AgentTail({ props });
}
