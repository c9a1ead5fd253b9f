import { getPath } from "hono/utils/url";

const CONTROL_PLANE_PREFIX = "/api-host";

/**
 * The path that routes match. Clients of a self-hosted control plane put /api-host before it, and
 * an agent's own host name stands for /agents/{slug}.
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
  return isPrefixed ? path.slice(CONTROL_PLANE_PREFIX.length) || "/" : path;
}

function slugOf(request: Request, domain: string): string | null {
  const host = new URL(request.url).hostname;
  const suffix = `.${domain.toLowerCase().replace(/:\d+$/, "")}`;
  if (!host.endsWith(suffix)) return null;
  const slug = host.slice(0, -suffix.length);
  return slug === "" || slug.includes(".") ? null : slug;
}
