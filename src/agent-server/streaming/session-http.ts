import { credentialEndOf } from "../../control-plane/workspaces/auth.ts";
import type { Caller, Context } from "../../shared/context.ts";
import type { EventFilter } from "../threads/events/filter.ts";
import type { EventSession } from "../threads/events/session.ts";

/** How long a session is trusted whose expiry only the agent's own code knows, or the app in front of the agent. */
const USER_SESSION_MS = 60 * 60 * 1000;

export function toSession(
  { caller, access }: Context,
  { deployment_id, thread_id }: { deployment_id: string; thread_id: string },
  { headers, url }: Request,
): EventSession {
  return {
    caller,
    user: access?.user ?? null,
    deployment_id,
    thread_id,
    headers: Object.fromEntries(headers),
    origin: new URL(url).origin,
    expires_at: endOf(caller),
  };
}

function endOf(caller: Caller): number | null {
  const isPerson = ["agent_user", "user"].includes(caller.actor.type);
  return credentialEndOf(caller) ?? (isPerson ? Date.now() + USER_SESSION_MS : null);
}

export function toFilter({
  channels,
  namespaces,
  depth,
}: {
  channels: string[];
  namespaces?: string[][] | null | undefined;
  depth?: number | null | undefined;
}): EventFilter {
  return { channels, namespaces: namespaces ?? null, depth: depth ?? null };
}
