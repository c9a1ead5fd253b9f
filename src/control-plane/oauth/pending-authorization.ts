import { and, eq, gt } from "drizzle-orm";
import { sha256Hex } from "../../shared/crypto/crypto.ts";
import { oauth_authorizations } from "./table.ts";

/** Matches the authorization of a state while it is pending and has not expired. */
export function isPending(provider_id: string, state: string) {
  return and(
    eq(oauth_authorizations.state_sha256, sha256Hex(state)),
    eq(oauth_authorizations.provider_id, provider_id),
    eq(oauth_authorizations.status, "pending"),
    gt(oauth_authorizations.expires_at, new Date().toISOString()),
  );
}
