import type { WireRequest } from "../../isolate/auth-contract.ts";
import { credentialIn } from "../../shared/auth.ts";
import { decodeText } from "../../shared/crypto/encoding.ts";

/** Parts of a path `/agents/{ref}/rest`. */
export type AgentRoute = { ref: string; path: string };

/** Prefixes of workspace keys, in either header, and of sessions of the console. */
const WORKSPACE_KEY = /^(lsv2_|hds_)/i;
const CREDENTIALS = ["x-api-key", "authorization"];

export function parseAgentPath(route_path: string): AgentRoute {
  const [, ref = "", rest = ""] = /^\/agents\/([^/]*)(.*)$/.exec(route_path) ?? [];
  return { ref: decodeURIComponent(ref), path: rest === "" ? "/" : rest };
}

/** A request as the agent's own code sees it: at the root of a server, and without a workspace's keys. */
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
 * Removes credentials of the workspace: keys, and tokens of `issuer`. The issuer is `null` when the agent authenticates
 * its users, because it receives all tokens then.
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

/** Does not verify: forged tokens of the issuer are withheld too. */
function issuerOf(token: string): string | undefined {
  const [, payload] = /^[^.\s]+\.([^.\s]+)\./.exec(token) ?? [];
  try {
    const claims = JSON.parse(decodeText(payload ?? "", "base64url"));
    return claims.iss;
  } catch {
    return undefined;
  }
}
