import type { WireRequest } from "../isolate/auth-contract.ts";

/** What a path of an agent says: `/agents/{ref}/rest`, as routes match it. */
export type AgentPlace = { ref: string; path: string };

/** What begins so is a key of a workspace, in either header. */
const WORKSPACE_KEY = /^(Bearer +)?lsv2_/i;
const CREDENTIALS = ["x-api-key", "authorization"];

export function placeOf(route_path: string): AgentPlace {
  const [, ref = "", rest = ""] = /^\/agents\/([^/]*)(.*)$/.exec(route_path) ?? [];
  return { ref: decode(ref).toLowerCase(), path: rest === "" ? "/" : rest };
}

/** A request as the agent's own code sees it: at the root of a server, and without a workspace's keys. */
export function toWireRequest({ url, method, headers }: Request, path: string): WireRequest {
  const own = new URL(url);
  own.pathname = path;
  return { url: own.href, method, headers: ownHeaders(headers) };
}

function ownHeaders(headers: Headers): [string, string][] {
  return [...headers].filter(
    ([name, value]) => !(CREDENTIALS.includes(name) && WORKSPACE_KEY.test(value.trim())),
  );
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
