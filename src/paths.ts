import { MALFORMED_PATH, slugOf, toAgentPath } from "./agent-server/access/agent-urls.ts";
import { OTLP_PATH } from "./traces/ingest/ingestion-paths.ts";

const CONTROL_PLANE_PREFIX = "/api-host";
/** Clients of LangSmith put /api, /v1, /api/v1 or nothing before these paths. */
const TRACE_PATH =
  /^(?:\/api)?(?:\/v1)?\/(sessions|runs|feedback|api-key|ttl-settings|workspaces|orgs|attachments|public(?=\/[^/]+\/run))(?=\/|$)/;
/** LangSmith's JavaScript SDK lists a shared trace's runs at a path that ends with its query. */
const LIST_SHARED_RUNS = /^(\/api\/v1\/public\/[^/]+\/runs)share_token=[^/]*$/;
/** Earlier versions of LangSmith's SDK omit the end of the path. */
const OTLP_PATHS = /^(?:\/api)?(?:\/v1)?\/otel(?:\/v1\/traces)?$/;
const INFO_PATH = /^\/api(?:\/v1)?\/info$/;

/** Paths of the control plane and of exports, which are rate-limited by principal and audited. */
export const CONTROLLED = [
  "/api/v1/api-key/*",
  "/api/v1/bulk-exports/*",
  "/api/v1/orgs/*",
  "/api/v1/ttl-settings",
  "/api/v1/workspaces/*",
  "/v1/alerts/*",
  "/v1/audit-logs/*",
  "/v1/integrations/*",
  "/v1/interrupts",
  "/v1/lookup/*",
  "/v1/projects/*",
  "/v1/quotas",
  "/v1/run-webhooks/*",
  "/v1/usage",
  "/v2/auth/*",
  "/v2/deployments/*",
  "/v2/listeners/*",
];

/** Paths whose changes are audited. Threads, ingested runs and feedback are traffic, which is not audited. */
export const AUDITED = [
  ...CONTROLLED,
  "/api/v1/runs/:run_id/share",
  "/api/v1/runs/delete",
  "/api/v1/sessions/*",
  "/api/v2/runs/:run_id/share",
];

/**
 * Routes before the authentication that cost a query or more, which are rate-limited by client network. The gate limits
 * the routes of agents' apps. A path that ends with `/*` also matches without this ending: with an entry for both, a
 * request would count twice.
 */
export const ANONYMOUS = [
  "/agents/:deployment_id/docs/*",
  "/agents/:deployment_id/openapi.json",
  "/agents/:deployment_id/ui/:agent/:file",
  "/api/v1/attachments/*",
  "/api/v1/feedback/tokens/*",
  "/api/v1/public/*",
  "/api/v2/public/*",
  "/public/*",
  "/uploads/*",
  "/v1/health",
  "/v1/invitations/*",
  "/v1/me/*",
  "/v1/metrics",
  "/v1/session/*",
  "/v2/auth/callback/*",
  "/v2/auth/setup/*",
  "/webhooks/*",
];

/** Paths that need a caller. Routes below them that are registered before the authentication are public. */
export const GUARDED = [
  ...CONTROLLED,
  "/api/v1/feedback/*",
  "/api/v1/otel/*",
  "/api/v1/runs/*",
  "/api/v1/sessions/*",
  "/api/v2/runs/*",
  "/api/v2/threads/*",
  "/api/v2/traces/*",
];

/**
 * Returns the path that routes match. Access, audit, CORS, limits and logs use this path and never the raw one, so that
 * no two of them read a URL differently. Clients of a self-hosted control plane put /api-host before it, an agent's
 * host name replaces /agents/{slug}, and clients of traces use several prefixes.
 */
export function toRoutePath(
  request: Request,
  options?: { env?: { AGENTS_DOMAIN?: string } },
): string {
  const path = canonicalPath(request.url);
  if (path === null) return MALFORMED_PATH;
  const slug = slugOf(request, options?.env?.AGENTS_DOMAIN ?? "");
  return slug === null
    ? toRoute(withoutControlPlanePrefix(path))
    : toAgentPath(`/agents/${slug}${path}`);
}

function toRoute(path: string): string {
  if (INFO_PATH.test(path)) return "/info";
  if (OTLP_PATHS.test(path)) return OTLP_PATH;
  if (path.startsWith("/agents/")) return toAgentPath(path);
  return path
    .replace(TRACE_PATH, "/api/v1/$1")
    .replace(LIST_SHARED_RUNS, "$1")
    .replace(/^\/v2\/(runs|traces|threads|public)(?=\/)/, "/api/v2/$1");
}

function withoutControlPlanePrefix(path: string): string {
  if (!`${path}/`.startsWith(`${CONTROL_PLANE_PREFIX}/`)) return path;
  return path.slice(CONTROL_PLANE_PREFIX.length) || "/";
}

/** Returns a path for the log. The token in a path is a credential. */
export function withoutToken(path: string): string {
  return path.replace(/(\/(?:feedback\/tokens|public|v1\/attachments)\/)[^/]+/, "$1...");
}

const UNAUTHENTICATED = ANONYMOUS.map(
  (path) => new RegExp(`^${path.replace("/*", "(/.*)?").replace(/:\w+/g, "[^/]+")}$`),
);

/**
 * Whether the body is read before any caller is known, so that it must be small. Webhooks of repository hosts are
 * excluded: their signature covers the whole body, which may be large.
 */
export function isUnauthenticated(path: string): boolean {
  return !path.startsWith("/webhooks/") && UNAUTHENTICATED.some((each) => each.test(path));
}

/** Uploads have their own size limit. */
export function isUpload(method: string, path: string): boolean {
  return method === "PUT" && path.startsWith("/uploads/");
}

/** Escapes of encodeURIComponent that a path segment does not need: `$`, `&`, `+`, `,`, `:`, `;`, `=` and `@`. */
const ESCAPED_IN_VAIN = /%(?:24|26|2B|2C|3A|3B|3D|40)/g;

/**
 * Returns the canonical path: without dot segments, and with escapes only where a character needs one.
 * @returns `null` for an empty segment inside the path, and for an escape that is not UTF-8.
 */
function canonicalPath(url: string): string | null {
  const segments = new URL(url).pathname.slice(1).split("/");
  if (segments.slice(0, -1).includes("")) return null;
  try {
    return `/${segments.map(canonicalSegment).join("/")}`;
  } catch {
    return null;
  }
}

function canonicalSegment(segment: string): string {
  return encodeURIComponent(decodeURIComponent(segment)).replace(
    ESCAPED_IN_VAIN,
    decodeURIComponent,
  );
}
