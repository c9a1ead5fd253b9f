import { getPath } from "hono/utils/url";

const CONTROL_PLANE_PREFIX = "/api-host";
/** What the SDKs of traces ask for below their endpoint, which is the host, /api or /api/v1. */
const TRACE_PATH = /^(?:\/api)?(?:\/v1)?\/(sessions|runs|feedback)(?=\/|$)/;
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
  const domain = options?.env?.AGENTS_DOMAIN ?? "";
  const slug = domain === "" ? null : slugOf(request, domain);
  if (slug !== null) return `/agents/${slug}${path}`;
  const isPrefixed = path === CONTROL_PLANE_PREFIX || path.startsWith(`${CONTROL_PLANE_PREFIX}/`);
  if (isPrefixed) return path.slice(CONTROL_PLANE_PREFIX.length) || "/";
  if (INFO_PATH.test(path)) return "/info";
  return path.replace(TRACE_PATH, "/api/v1/$1").replace(/^\/v2\/runs(?=\/)/, "/api/v2/runs");
}

/** Of a path that routes match: whether runs are sent to it, in bodies of any size and packing. */
export function isIngestion(method: string, path: string): boolean {
  if (method === "PATCH") return /^\/api\/v1\/runs\/[^/]+$/.test(path);
  return method === "POST" && /^\/api\/v1\/runs(\/batch|\/multipart)?$/.test(path);
}

function slugOf(request: Request, domain: string): string | null {
  const host = new URL(request.url).hostname;
  const suffix = `.${domain.toLowerCase().replace(/:\d+$/, "")}`;
  if (!host.endsWith(suffix)) return null;
  const slug = host.slice(0, -suffix.length);
  return slug === "" || slug.includes(".") ? null : slug;
}
