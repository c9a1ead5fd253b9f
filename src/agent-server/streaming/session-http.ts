import { credentialEndOf } from "../../control-plane/workspaces/auth.ts";
import type { Caller, Context } from "../../shared/context.ts";
import type { EventSession } from "../threads/events/session.ts";

/**
 * Lifetime of a user's session when Heddle knows no expiry of the credential: the agent's own code or a proxy
 * authenticated the user.
 */
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
    expires_at: sessionExpiry(caller),
  };
}

function sessionExpiry(caller: Caller): number | null {
  const isUser = ["agent_user", "user"].includes(caller.actor.type);
  return credentialEndOf(caller) ?? (isUser ? Date.now() + USER_SESSION_MS : null);
}
