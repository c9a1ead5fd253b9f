import { decodeJwt } from "jose";
import type { Caller, Context } from "../../shared/context.ts";
import type { EventFilter } from "../threads/events/filter.ts";
import type { Session } from "../threads/events/session.ts";

/**
 * How long a session authenticated by the agent's own code is trusted: only that code knows the credential's
 * expiry.
 */
const USER_SESSION_MS = 60 * 60 * 1000;

export function toSession(
  { caller, access }: Context,
  { deployment_id, thread_id }: { deployment_id: string; thread_id: string },
  { headers, url }: Request,
): Session {
  return {
    caller,
    user: access?.user ?? null,
    deployment_id,
    thread_id,
    headers: Object.fromEntries(headers),
    origin: new URL(url).origin,
    expires_at: endOf(caller, headers),
  };
}

function endOf({ actor }: Caller, headers: Headers): number | null {
  if (actor.type === "agent_user") return Date.now() + USER_SESSION_MS;
  return actor.type === "user" ? endOfToken(headers) : null;
}

/** The token was verified before. */
function endOfToken(headers: Headers): number | null {
  const token = /^Bearer +(\S+)$/i.exec(headers.get("Authorization") ?? "")?.[1];
  const { exp } = decodeJwt(token ?? headers.get("X-Api-Key") ?? "");
  return exp === undefined ? null : exp * 1000;
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
