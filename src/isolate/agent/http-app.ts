import { app } from "heddle:graphs";
import type { AuthUser } from "../auth-contract.ts";
import type { Server } from "../environment-contract.ts";
import { loadModule } from "../modules/agent-module.ts";

/** Context of a request. A symbol hides it from the app's own code. */
type Call = { builtin: Server; user: AuthUser | null };

/** Subset of Hono that all its versions share. */
type HonoRequest = {
  raw: Request;
  json(): Promise<unknown>;
  bodyCache: Record<string, Promise<BodyInit> | undefined>;
};
type HonoContext = {
  req: HonoRequest;
  env: Record<symbol, Call>;
  set(key: string, value: unknown): void;
};
type Handler = (c: HonoContext, next: () => Promise<void>) => Promise<Response | undefined>;
type Hono = {
  routes: unknown[];
  /** Returns the path of a request, without a trailing slash for an app with `strict: false`. */
  getPath: unknown;
  use(path: string, handler: Handler): void;
  all(path: string, handler: Handler): void;
  route(path: string, app: Hono): void;
  fetch(request: Request, env: object, ctx: ExecutionContext): Promise<Response>;
  constructor: new (options: Pick<Hono, "getPath">) => Hono;
};

const CALL = Symbol("call");
const parsed = new WeakMap<HonoRequest, Promise<unknown>>();

let wrapped: Hono | null = null;

/** @throws Error, for the log of the build, when `http.app` is not an app */
export async function assertApp(): Promise<void> {
  if (app) await openApp();
}

/** Calls the agent's own app. The agent server answers requests for which the app has no route. */
export async function serveApp(
  request: Request,
  call: Call,
  env: object,
  ctx: ExecutionContext,
): Promise<Response> {
  const opened = await openApp();
  return opened.fetch(request, { ...env, [CALL]: call }, ctx);
}

async function openApp(): Promise<Hono> {
  const own = await ownApp();
  wrapped ??= wrap(own);
  return wrapped;
}

/**
 * Wraps the agent's Hono in one of the same version, with the server's routes behind the agent's. Only the outer Hono
 * reads paths, so it takes that option.
 */
function wrap(own: Hono): Hono {
  const all = new own.constructor({ getPath: own.getPath });
  all.use("*", prepare);
  all.route("/", own);
  all.all("*", callBuiltin);
  return all;
}

const prepare: Handler = async (c, next) => {
  const { user } = callOf(c);
  if (user) c.set("auth", { user, scopes: user.permissions });
  const { req } = c;
  const read = req.json.bind(req);
  // Shares one object: middleware may change it for the next reader.
  req.json = () => {
    const known = parsed.get(req) ?? read();
    parsed.set(req, known);
    return known;
  };
  await next();
};

const callBuiltin: Handler = async (c) => {
  const response = await callOf(c).builtin.fetch(await toRequest(c.req));
  // Copies the response: headers of fetched responses are immutable.
  return new Response(response.body, response);
};

async function toRequest(req: HonoRequest): Promise<Request> {
  const { raw } = req;
  const { url, method } = raw;
  const headers = new Headers(raw.headers);
  headers.delete("content-length");
  // A GET or HEAD must have no body, not even the empty text that a middleware may have read from it.
  const body = method === "GET" || method === "HEAD" ? null : await bodyOf(req);
  return new Request(url, { method, headers, body, redirect: "manual" });
}

/** Returns the parsed and perhaps changed body, or the original one. */
async function bodyOf(req: HonoRequest): Promise<BodyInit | null> {
  const json = await parsed.get(req)?.catch(() => undefined);
  if (json !== undefined) return JSON.stringify(json);
  const [cached] = Object.values(req.bodyCache);
  if (cached) return await cached;
  return req.raw.bodyUsed ? "" : req.raw.body;
}

function callOf({ env }: HonoContext): Call {
  const call = env[CALL];
  if (call) return call;
  throw new Error("http.app: its environment was replaced by a middleware.");
}

async function ownApp(): Promise<Hono> {
  if (!app) throw new Error("langgraph.json of this revision names no http.app.");
  const module = await loadModule(app);
  const value = module[app.export_name];
  if (isHono(value)) return value;
  const known = Object.keys(module).join(", ") || "none";
  throw new Error(
    `http.app: its module has no Hono app as "${app.export_name}" (it exports: ${known}).`,
  );
}

function isHono(value: unknown): value is Hono {
  if (typeof value !== "object" || value === null) return false;
  if (!("routes" in value && "route" in value && "fetch" in value)) return false;
  return Array.isArray(value.routes) && typeof value.route === "function";
}
