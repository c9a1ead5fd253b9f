/** Route path of malformed URLs, such as one with two revisions. No canonical path equals it, so no route matches it. */
export const MALFORMED_PATH = "/%";

/**
 * Returns the canonical path, which routes match: `/agents/{deployment}/revisions/{revision}/...` becomes
 * `/agents/{deployment}@{revision}/...`. The reference after `/agents/` becomes lower case, and `/mcp/` loses its last
 * slash.
 */
export function toAgentPath(path: string): string {
  const pinned = path.replace(/^(\/agents\/[^/@]+)\/revisions\/([^/]+)/, "$1@$2");
  if (/^\/agents\/[^/@]*@[^/@]*@/.test(pinned)) return MALFORMED_PATH;
  return pinned
    .replace(/^\/agents\/[^/]+/, (agent) => agent.toLowerCase())
    .replace(/^(\/agents\/[^/]+\/mcp)\/$/, "$1");
}

/** Whether the request is to a host name of one agent, and not to the origin that all share. */
export function isAgentHost(request: Request, env: { AGENTS_DOMAIN: string }): boolean {
  return slugOf(request, env.AGENTS_DOMAIN) !== null;
}

/**
 * Returns the URL of the agent server that a request was routed to: the root of the agent's own host, or a path below
 * the shared origin. Uses the routed reference, because the raw path has many spellings.
 */
export function agentServerUrl(
  request: Request,
  env: { AGENTS_DOMAIN: string },
  ref: string,
): string {
  const [deployment = "", revision] = ref.split("@");
  if (deployment === "") throw new Error("An agent server has no URL without a reference");
  const base = isAgentHost(request, env) ? "" : `/agents/${encodeURIComponent(deployment)}`;
  const pin = revision === undefined ? "" : `/revisions/${encodeURIComponent(revision)}`;
  return new URL(request.url).origin + base + pin;
}

/** @returns the slug of the agent in the host name, `null` for the host that all agents share */
export function slugOf(request: Request, domain: string): string | null {
  if (domain === "") return null;
  const host = new URL(request.url).hostname;
  const suffix = `.${domain.toLowerCase().replace(/:\d+$/, "")}`;
  if (!host.endsWith(suffix)) return null;
  const slug = host.slice(0, -suffix.length);
  return slug === "" || slug.includes(".") ? null : slug;
}
