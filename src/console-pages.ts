import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { AppEnv } from "./shared/context.ts";
import { AppError, invalid } from "./shared/errors.ts";
import { baseUrl } from "./shared/http/base-url.ts";
import { originOf } from "./shared/http/http.ts";
import { pageHeaders } from "./shared/http/page-headers.ts";
import { VERSION } from "./shared/http/version.ts";
import { Uuid } from "./shared/schema.ts";

const IMMUTABLE = "public, max-age=31536000, immutable";

/** Policy of the console: no request leaves the origin, and only sanitized text becomes markup. */
const protect = pageHeaders({
  scriptSrc: ["'self'"],
  styleSrc: ["'self'"],
  connectSrc: ["'self'"],
  imgSrc: ["'self'", "data:", "blob:"],
  workerSrc: ["'self'"],
  formAction: ["'none'"],
  requireTrustedTypesFor: ["'script'"],
  trustedTypes: ["heddle-markdown", "dompurify"],
});

/** Serves the console below /console. Redirects browsers from the root to it. */
export function addConsole(app: OpenAPIHono<AppEnv>): void {
  app.get("/", root);
  app.get("/console", (c) => c.redirect("/console/"));
  app.get("/console/assets/:file", (c) => asset(c));
  app.get("/console/*", page);
  app.get("/o/:workspace_id/host/deployments/:deployment_id", statusUrl);
}

/** Redirects the address that command-line tools print as the status of a deployment. */
function statusUrl(c: Context<AppEnv>): Response {
  const [workspace_id, deployment_id] = [idOf(c, "workspace_id"), idOf(c, "deployment_id")];
  return c.redirect(`/console/w/${workspace_id}/deployments/${deployment_id}`);
}

function idOf(c: Context<AppEnv>, name: string): string {
  const { success, data } = Uuid.safeParse(c.req.param(name));
  if (!success) throw invalid(["path", name], "must be a UUID", "uuid_parsing");
  return data;
}

function root(c: Context<AppEnv>): Response {
  c.header("Vary", "Accept");
  if (c.req.header("Accept")?.includes("text/html")) return c.redirect("/console/");
  const base = baseUrl(c.env, originOf(c.req.url));
  const links = { console: `${base}/console/`, docs: `${base}/docs` };
  return c.json({ name: "Heddle", version: VERSION, ...links, openapi: `${base}/openapi.json` });
}

/** Serves the same document for every path below /console: the console's own router chooses the page. */
async function page(c: Context<AppEnv>): Promise<Response> {
  await protect(c, async () => {
    const { body } = await fetchAsset(c, "/console/index.html");
    const headers = { "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache" };
    c.res = new Response(body, { headers });
  });
  return c.res;
}

/** Serves an asset, which clients may cache for a year: its name contains a hash of its content. */
async function asset(c: Context<AppEnv>): Promise<Response> {
  const found = await fetchAsset(c, c.req.path);
  const headers = new Headers(found.headers);
  headers.set("Cache-Control", IMMUTABLE);
  headers.set("X-Content-Type-Options", "nosniff");
  return new Response(found.body, { headers });
}

async function fetchAsset(c: Context<AppEnv>, path: string): Promise<Response> {
  const found = await c.env.ASSETS.fetch(new URL(path, originOf(c.req.url)));
  if (found.ok) return found;
  await found.body?.cancel();
  throw new AppError("not_found", `The console has no file ${path}: reload the page.`);
}
