import type { DurableObject } from "cloudflare:workers";
import { inRegion } from "../../../shared/storage/objects.ts";
import type { TokenObject } from "./object.ts";

// The types of RPC change optional fields of arguments; the class has the real ones.
type TokenCalls = Omit<TokenObject, keyof DurableObject>;

/** The token's row was found for its owner first: only its id leads to its object. */
export function tokenObject(env: Env, token_id: string): TokenCalls {
  return inRegion(env, env.TOKENS).getByName(token_id) as unknown as TokenCalls;
}
