import type { WireRequest } from "../../isolate/auth-contract.ts";
import { credentialIn } from "../../shared/auth.ts";
import { decodeText } from "../../shared/crypto/encoding.ts";

/** Parts of a path `/agents/{ref}/rest`. */
export type AgentRoute = { ref: string; path: string };

/** Prefixes of workspace keys and of console sessions, which each header of `CREDENTIALS` may have. */
const WORKSPACE_KEY = /^(lsv2_|hds_)/i;
const CREDENTIALS = ["x-api-key", "authorization"];

export function parseAgentPath(route_path: string): AgentRoute {
  const [, ref = "", rest = ""] = /^\/agents\/([^/]*)(.*)$/.exec(route_path) ?? [];
  return { ref: decodeURIComponent(ref), path: rest === "" ? "/" : rest };
}

/** Returns a request for the agent's own code: at the root of a server, without credentials of the workspace. */
export function toWireRequest(
  { url, method, headers }: Request,
  path: string,
  issuer: string | null,
): WireRequest {
  const agentUrl = new URL(url);
  agentUrl.pathname = path;
  return { url: agentUrl.href, method, headers: withoutWorkspaceCredentials(headers, issuer) };
}

/**
 * Returns headers without credentials of the workspace: keys, console sessions, and tokens of `issuer`. `issuer`:
 * `null` to keep all tokens.
 */
export function withoutWorkspaceCredentials(
  headers: Headers,
  issuer: string | null,
): [string, string][] {
  return [...headers].filter(([name, value]) => {
    if (!CREDENTIALS.includes(name)) return true;
    const credential = credentialIn(value);
    return !WORKSPACE_KEY.test(credential) && issuerOf(credential) !== issuer;
  });
}

/** @returns the name of the first header whose credential `withoutWorkspaceCredentials` withholds from the agent. */
export function withheldCredential(headers: Headers, issuer: string | null): string | null {
  const passed = new Set(withoutWorkspaceCredentials(headers, issuer).map(([name]) => name));
  return CREDENTIALS.find((name) => headers.has(name) && !passed.has(name)) ?? null;
}

/** Returns the issuer that a token names. Does not verify the token: forged tokens are withheld too. */
function issuerOf(token: string): string | undefined {
  const [, payload] = /^[^.\s]+\.([^.\s]+)\./.exec(token) ?? [];
  try {
    const claims = JSON.parse(decodeText(payload ?? "", "base64url"));
    return claims.iss;
  } catch {
    return undefined;
  }
}
