import { z } from "zod";

const Names = z.array(z.string()).nullish();
const Flag = z.boolean().nullish();

/** Fields of `http` in langgraph.json that the Worker uses. The builder validates all of it. */
const Http = z.looseObject({
  app: z.string().nullish(),
  enable_custom_route_auth: Flag,
  middleware_order: z.enum(["auth_first", "middleware_first"]).nullish(),
  mount_prefix: z.string().nullish(),
  configurable_headers: z.object({ includes: Names, excludes: Names }).nullish(),
  cors: z
    .object({
      allow_origins: Names,
      allow_origin_regex: z.string().nullish(),
      allow_methods: Names,
      allow_headers: Names,
      allow_credentials: Flag,
      expose_headers: Names,
      max_age: z.number().nullish(),
    })
    .nullish(),
});

export type HttpSettings = z.infer<typeof Http>;
export type CorsSettings = NonNullable<HttpSettings["cors"]>;

/** Paths of the routes that a flag of `http` disables. */
const FAMILIES: Record<string, RegExp> = {
  disable_assistants: /^\/assistants(\/|$)/,
  disable_threads: /^\/threads(\/(?![^/]+\/runs(\/|$))|$)/,
  disable_crons: /\/runs\/crons(\/|$)/,
  // Includes the v2 protocol: its commands start runs, and its sockets carry commands.
  disable_runs:
    /^(\/threads\/[^/]+)?\/runs(\/|$)|^\/threads\/[^/]+\/(commands|stream\/events)(\/|$)/,
  disable_store: /^\/store(\/|$)/,
  disable_meta: /^\/(ok|info|metrics|openapi\.json|docs(\/.*)?)$/,
  disable_mcp: /^\/mcp(\/|$)/,
  disable_a2a: /^\/(a2a|\.well-known\/agent-card\.json)(\/|$)/,
  disable_ui: /^\/ui(\/|$)/,
};

const known = new WeakMap<object, HttpSettings>();

export function httpSettings(config: Record<string, unknown> | null): HttpSettings {
  const { http } = config ?? {};
  if (typeof http !== "object" || http === null) return {};
  const hit = known.get(http);
  if (hit) return hit;
  const settings = Http.safeParse(http).data ?? {};
  known.set(http, settings);
  return settings;
}

export function isDisabled(settings: HttpSettings, path: string): boolean {
  return Object.entries(FAMILIES).some(
    ([flag, paths]) => settings[flag] === true && paths.test(path),
  );
}

/** @returns the rest of a path below `http.mount_prefix`, `null` for other paths and without a prefix */
export function withoutPrefix({ mount_prefix }: HttpSettings, path: string): string | null {
  if (!mount_prefix || !`${path}/`.startsWith(`${mount_prefix}/`)) return null;
  return path.slice(mount_prefix.length) || "/";
}

/** Whether the app runs before authentication. */
export function isAppFirst({ enable_custom_route_auth, middleware_order }: HttpSettings): boolean {
  if (enable_custom_route_auth === false) return true;
  return middleware_order === "middleware_first" && enable_custom_route_auth !== true;
}

type Headers = Record<string, string>;

/**
 * Returns the request headers that graphs read from `configurable`: those of `http.configurable_headers`, by default
 * `x-*` and `user-agent`, without `HIDDEN_HEADERS`, and those of a trace that the request continues. `headers`: by name
 * in lower case.
 */
export function configurableHeaders(
  headers: Headers,
  { configurable_headers }: Pick<HttpSettings, "configurable_headers">,
): Headers {
  const includes = configurable_headers?.includes ?? ["x-*", "user-agent"];
  const excludes = configurable_headers?.excludes ?? [];
  const shown = Object.entries(headers).filter(
    ([name]) =>
      isOfTrace(name, headers) ||
      (isAmong(includes, name) && !isAmong(excludes, name) && !HIDDEN_HEADERS.has(name)),
  );
  return Object.fromEntries(shown);
}

function isOfTrace(name: string, headers: Headers): boolean {
  if (name === "baggage") return headers["langsmith-trace"] !== undefined;
  return name === "langsmith-trace" || name === "traceparent";
}

/** Whether a list has the header, in any case. A name of the list may end with `*`. */
function isAmong(names: string[], header: string): boolean {
  return names.some((name) => {
    const pattern = name.toLowerCase();
    return pattern.endsWith("*") ? header.startsWith(pattern.slice(0, -1)) : header === pattern;
  });
}

const HIDDEN_HEADERS = new Set([
  "authorization",
  "cookie",
  "sec-websocket-protocol",
  "x-api-key",
  "x-auth-scheme",
  "x-service-key",
  "x-tenant-id",
]);
