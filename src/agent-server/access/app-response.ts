import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { isAgentHost } from "./agent-urls.ts";
import { internalCallerOf } from "./internal-caller.ts";

/**
 * Gives a page an opaque origin: no `allow-same-origin`. Popups escape the sandbox, because a page
 * that sets Cross-Origin-Opener-Policy, such as a consent page, does not load inside one.
 */
const SANDBOX =
  "sandbox allow-downloads allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-scripts";

/**
 * Response headers that change the whole origin or host, not the one document.
 * Cross-Origin-Opener-Policy is among them because browsers refuse a sandboxed document that sets it.
 */
const ORIGIN_WIDE = [
  "Accept-CH",
  "Alt-Svc",
  "Clear-Site-Data",
  "Critical-CH",
  "Cross-Origin-Opener-Policy",
  "Expect-CT",
  "NEL",
  "Origin-Agent-Cluster",
  "Proxy-Authenticate",
  "Public-Key-Pins",
  "Public-Key-Pins-Report-Only",
  "Report-To",
  "Sec-Session-Registration",
  "Secure-Session-Registration",
  "Service-Worker-Allowed",
  "Set-Cookie",
  "Set-Cookie2",
  "Set-Login",
  "Speculation-Rules",
  "Strict-Transport-Security",
  "Use-As-Dictionary",
];

/** Browsers store the answer to these challenges for the origin, and send it to every agent there. */
const STORED_CHALLENGE = /(^|[\s,])(basic|digest|negotiate|ntlm)\b/i;

/** Request headers with which a browser or an access proxy proves its user to the whole origin. */
const ORIGIN_CREDENTIAL = /^(cookie2?|cf-access-.*)$/i;

/** Prevents pages from controlling the shared origin, and browsers from rendering a body by its content alone. */
export const guardOrigin = createMiddleware<AppEnv>(async (c, next) => {
  if (!isSharedOrigin(c.req.raw, c.env)) return next();
  const { headers } = c.req.raw;
  if (headers.has("Service-Worker") || headers.get("Sec-Fetch-Dest") === "serviceworker") {
    const text = "Service workers are not allowed on this origin: use the agent's own host name.";
    throw new AppError("forbidden", text);
  }
  c.res.headers.set("X-Content-Type-Options", "nosniff");
  return next();
});

/** Isolates agents, whose code chooses pages and headers, from the origin that they share. */
export const sandboxAgents = createMiddleware<AppEnv>(async (c, next) => {
  if (!isSharedOrigin(c.req.raw, c.env)) return next();
  c.req.raw = withoutOriginCredentials(c.req.raw);
  await next();
  sandboxHeaders(c.res.headers);
  return;
});

/** Internal calls are not from a browser; their responses pass here again on the way out. */
function isSharedOrigin(request: Request, env: Env): boolean {
  return internalCallerOf(env) === null && !isAgentHost(request, env);
}

function withoutOriginCredentials(request: Request): Request {
  const names = [...request.headers.keys()].filter((name) => ORIGIN_CREDENTIAL.test(name));
  if (names.length === 0) return request;
  const headers = new Headers(request.headers);
  for (const name of names) headers.delete(name);
  return new Request(request, { headers });
}

/** The agent's own policy stays in force beside the sandbox: browsers apply all policies of a list. */
function sandboxHeaders(headers: Headers): void {
  for (const name of ORIGIN_WIDE) headers.delete(name);
  if (STORED_CHALLENGE.test(headers.get("WWW-Authenticate") ?? "")) {
    headers.delete("WWW-Authenticate");
  }
  const own = headers.get("Content-Security-Policy");
  headers.set("Content-Security-Policy", own === null ? SANDBOX : `${SANDBOX}, ${own}`);
}
