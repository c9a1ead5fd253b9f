import type { WireRequest } from "../../isolate/auth-contract.ts";
import { decodeText } from "../../shared/crypto/encoding.ts";

/** What a path of an agent says: `/agents/{ref}/rest`, as routes match it. */
export type AgentRoute = { ref: string; path: string };

/** What begins so is a key of a workspace, in either header. */
const WORKSPACE_KEY = /^(Bearer +)?lsv2_/i;
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
  const own = new URL(url);
  own.pathname = path;
  return { url: own.href, method, headers: ownHeaders(headers, issuer) };
}

/**
 * What the agent may see of them: what opens the workspace is for the Worker. `issuer` is whose tokens do that
 * here, where the agent does not know its users by itself.
 */
export function ownHeaders(headers: Headers, issuer: string | null): [string, string][] {
  return [...headers].filter(([name, value]) => {
    if (!CREDENTIALS.includes(name)) return true;
    if (WORKSPACE_KEY.test(value.trim())) return false;
    return name === "x-api-key" || headers.has("x-api-key") || issuerOf(value) !== issuer;
  });
}

/** @returns the name of the first header whose credential `ownHeaders` withholds from the agent. */
export function withheldCredential(headers: Headers, issuer: string | null): string | null {
  const own = new Set(ownHeaders(headers, issuer).map(([name]) => name));
  return CREDENTIALS.find((name) => headers.has(name) && !own.has(name)) ?? null;
}

/** Unchecked: of a token that says so the agent shall not even see a forged one. */
function issuerOf(authorization: string): string | undefined {
  const [, payload] = /^Bearer +[^.\s]+\.([^.\s]+)\./i.exec(authorization) ?? [];
  try {
    const claims = JSON.parse(decodeText(payload ?? "", "base64url"));
    return claims.iss;
  } catch {
    return undefined;
  }
}
