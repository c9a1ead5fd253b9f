import { cors } from "hono/cors";
import { createMiddleware } from "hono/factory";
import {
  type ActiveRevision,
  servedRevision,
} from "../../control-plane/deployments/api/service.ts";
import type { AppEnv } from "../../shared/context.ts";
import { TtlCache } from "../../shared/work/ttl-cache.ts";
import { callIsolate } from "./agent-auth.ts";
import { MatchAnswer } from "./boundary.ts";
import { type CorsSettings, httpSettings } from "./http-settings.ts";
import { parseAgentPath } from "./request.ts";

type Options = NonNullable<Parameters<typeof cors>[0]>;

/** Longest origin that is matched with an expression. Origins of pages are shorter. */
const MAX_ORIGIN_CHARACTERS = 300;
/** Headers that are allowed besides those of a configuration, as by the CORS middleware of LangGraph's server. */
const SAFELISTED_HEADERS = ["Accept", "Accept-Language", "Content-Language", "Content-Type"];
const MATCH_TTL_MS = 60_000;
const matched = new TtlCache<boolean>(MATCH_TTL_MS);

/**
 * Allows pages of all origins to call, and to read the exposed headers. `http.cors` of an agent may restrict origins,
 * methods and headers, and exposes further headers.
 */
export function crossOrigin(exposed: string[]) {
  const everywhere = cors({ origin: "*", exposeHeaders: exposed });
  return createMiddleware<AppEnv>(async (c, next) => {
    const revision = c.req.path.startsWith("/agents/") ? await revisionAt(c.env, c.req.path) : null;
    const settings = revision && httpSettings(revision.config).cors;
    const isForAll = !revision || !settings;
    const own = isForAll ? everywhere : cors(toOptions(c.env, revision, settings, exposed));
    const preflight = await own(c, next);
    if (preflight) allowPrivateNetwork(c.req.raw, preflight);
    return preflight;
  });
}

/** Lets a public page, such as Studio, call a server on a private network: browsers send a header with the preflight. */
function allowPrivateNetwork({ headers }: Request, preflight: Response) {
  if (headers.get("Access-Control-Request-Private-Network") !== "true") return;
  if (!preflight.headers.has("Access-Control-Allow-Origin")) return;
  preflight.headers.set("Access-Control-Allow-Private-Network", "true");
}

async function revisionAt(env: Env, path: string): Promise<ActiveRevision | null> {
  return servedRevision(env, parseAgentPath(path).ref);
}

function toOptions(
  env: Env,
  revision: ActiveRevision,
  settings: CorsSettings,
  exposed: string[],
): Options {
  const { allow_methods, allow_headers, expose_headers, max_age } = settings;
  return {
    origin: (origin) => allowedOrigin(env, revision, settings, origin),
    exposeHeaders: [...new Set([...exposed, ...(expose_headers ?? [])])],
    credentials: settings.allow_credentials === true,
    ...(areNamed(allow_methods) && { allowMethods: allow_methods }),
    ...(areNamed(allow_headers) && { allowHeaders: [...SAFELISTED_HEADERS, ...allow_headers] }),
    ...(typeof max_age === "number" && { maxAge: max_age }),
  };
}

/**
 * Whether a list restricts names. Without names, Hono allows the headers that the preflight requests, and its default
 * methods. A `*` counts as no names, because browsers take it literally in requests with credentials.
 */
function areNamed(names: string[] | null | undefined): names is string[] {
  return names != null && names.length > 0 && !names.includes("*");
}

async function allowedOrigin(
  env: Env,
  revision: ActiveRevision,
  { allow_origins, allow_origin_regex, allow_credentials }: CorsSettings,
  origin: string,
): Promise<string | null> {
  const isForAll = allow_origins ? allow_origins.includes("*") : !allow_origin_regex;
  if (isForAll) return allow_credentials && origin !== "" ? origin : "*";
  if (allow_origins?.includes(origin)) return origin;
  if (!allow_origin_regex || origin === "" || origin.length > MAX_ORIGIN_CHARACTERS) return null;
  return (await isMatched(env, revision, allow_origin_regex, origin)) ? origin : null;
}

/** Runs in the agent's isolate: the expression is the agent's and may never end. */
function isMatched(env: Env, revision: ActiveRevision, pattern: string, text: string) {
  return matched.get(`${revision.revision_id} ${text}`, () =>
    callIsolate(env, revision, "matchesPattern", MatchAnswer, (agent) =>
      agent.matchesPattern(pattern, text),
    ),
  );
}
