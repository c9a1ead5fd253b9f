import type { DurableObject } from "cloudflare:workers";
import { inRegion } from "../../../shared/storage/objects.ts";
import type { TokenObject } from "./object.ts";

// The types of RPC change optional fields of arguments; the class has the real ones.
type TokenCalls = Omit<TokenObject, keyof DurableObject>;

/** Returns the object of a token. The object checks no owner: callers take `token_id` from a row that they may use. */
export function tokenObject(env: Env, token_id: string): TokenCalls {
  return inRegion(env, env.TOKENS).getByName(token_id) as unknown as TokenCalls;
}
