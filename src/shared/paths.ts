import { getPath } from "hono/utils/url";

const CONTROL_PLANE_PREFIX = "/api-host";
/** Clients of LangSmith have three forms of one endpoint: the host, /api and /api/v1. */
const TRACE_PATH = /^(?:\/api)?(?:\/v1)?\/(sessions|runs|feedback|api-key|workspaces|orgs)(?=\/|$)/;
const INFO_PATH = /^\/api(?:\/v1)?\/info$/;

/**
 * The path that routes match. Clients of a self-hosted control plane put /api-host before it, an
 * agent's own host name stands for /agents/{slug}, and traces have three endpoints for one.
 */
export function toRoutePath(
  request: Request,
  options?: { env?: { AGENTS_DOMAIN?: string } },
): string {
  const path = getPath(request);
  const slug = slugOf(request, options?.env?.AGENTS_DOMAIN ?? "");
  if (slug !== null) return pinned(`/agents/${slug}${path}`);
  const isPrefixed = path === CONTROL_PLANE_PREFIX || path.startsWith(`${CONTROL_PLANE_PREFIX}/`);
  if (isPrefixed) return path.slice(CONTROL_PLANE_PREFIX.length) || "/";
  if (INFO_PATH.test(path)) return "/info";
  if (path.startsWith("/agents/")) return pinned(path);
  return path.replace(TRACE_PATH, "/api/v1/$1").replace(/^\/v2\/runs(?=\/)/, "/api/v2/runs");
}

/**
 * The URL of one revision has all that the deployment's has: routes match it as
 * `/agents/{deployment}@{revision}`. MCP is asked for with and without a slash at the end.
 */
function pinned(path: string): string {
  return path
    .replace(/^(\/agents\/[^/@]+)\/revisions\/([^/]+)/, "$1@$2")
    .replace(/^(\/agents\/[^/]+\/mcp)\/$/, "$1");
}

/** As it may be written down: whoever has all of such a path may do what it is for. */
export function withoutToken(path: string): string {
  return path.replace(/(\/feedback\/tokens\/)[^/]+/, "$1...");
}

/** Of a path that routes match: whether runs are sent to it, in bodies of any size and packing. */
export function isIngestion(method: string, path: string): boolean {
  if (method === "PATCH") return /^\/api\/v1\/runs\/[^/]+$/.test(path);
  return method === "POST" && /^\/api\/v1\/runs(\/batch|\/multipart)?$/.test(path);
}

/** Tarballs are counted by what they are received for. */
export function isUpload(method: string, path: string): boolean {
  return method === "PUT" && path.startsWith("/uploads/");
}

/** Whether the request is to a host name of one agent, and not to the origin that all share. */
export function isAgentHost(request: Request, env: { AGENTS_DOMAIN: string }): boolean {
  return slugOf(request, env.AGENTS_DOMAIN) !== null;
}

/**
 * The URL of the agent server that a request was routed to: the root of the agent's own host, or a path below
 * the origin. It is made from the routed reference, because the raw path has many spellings.
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

function slugOf(request: Request, domain: string): string | null {
  if (domain === "") return null;
  const host = new URL(request.url).hostname;
  const suffix = `.${domain.toLowerCase().replace(/:\d+$/, "")}`;
  if (!host.endsWith(suffix)) return null;
  const slug = host.slice(0, -suffix.length);
  return slug === "" || slug.includes(".") ? null : slug;
}
