import type { Caller } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";

/** Returns the owner of the caller's tokens: `user:{id}` for a user or a personal key, `key:{id}` for a service key. */
export function ownerOf({ actor }: Caller): string {
  if (actor.type === "system")
    throw new AppError("forbidden", "Internal callers have no OAuth tokens.");
  if (actor.type === "agent_user") {
    const text =
      "Users of an agent's custom authentication have no OAuth tokens in the workspace: use an API key.";
    throw new AppError("forbidden", text);
  }
  if (actor.type === "api_key" && actor.user_id === null) return `key:${actor.key_id}`;
  return `user:${actor.user_id}`;
}

/** Reverses `ownerOf`. */
export function actorOf(owner: string): { user_id: string } | { key_id: string } {
  const id = owner.slice(owner.indexOf(":") + 1);
  return owner.startsWith("key:") ? { key_id: id } : { user_id: id };
}

type Named = { user_id?: string | null | undefined; ls_user_id?: string | null | undefined };

/**
 * Returns the id of the user that a token is for, as the caller names its users; empty when the token is for the caller
 * itself. Tokens are found by owner and by this id, so the id never selects tokens of other owners.
 */
export function subjectOf(caller: Caller, { user_id, ls_user_id }: Named): string {
  const own = ownUserId(caller);
  if (ls_user_id && ls_user_id !== own) {
    const text = "ls_user_id must be the id of the caller.";
    throw new AppError("forbidden", text);
  }
  return user_id && user_id !== own ? user_id : "";
}

export function ownUserId({ actor }: Caller): string | null {
  return "user_id" in actor ? actor.user_id : null;
}
