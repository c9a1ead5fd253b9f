import type { DurableObject } from "cloudflare:workers";
import { inRegion } from "../../../shared/storage/objects.ts";
import type { TokenObject } from "./object.ts";

// The types of RPC turn optional fields of what is sent into another type; the calls are what the class says.
type TokenCalls = Omit<TokenObject, keyof DurableObject>;

/** The token's row was found for its owner first: only its id leads to its object. */
export function tokenObject(env: Env, token_id: string): TokenCalls {
  return inRegion(env, env.TOKENS).getByName(token_id) as unknown as TokenCalls;
}
