import { OpenAPIHono } from "@hono/zod-openapi";
import type { Context as HonoContext } from "hono";
import { HTTPException } from "hono/http-exception";
import type { z } from "zod";
import type { AppEnv } from "../context.ts";
import { AppError, type Issue, invalid } from "../errors.ts";
import { log } from "../log.ts";
import { isShallow, MAX_DEPTH } from "./depth.ts";
import { isIngestion, MALFORMED_PATH, withoutToken } from "./paths.ts";
import { isUpgrade, refusedSocket } from "./sockets.ts";

type RouterOptions = NonNullable<ConstructorParameters<typeof OpenAPIHono<AppEnv>>[0]>;
type Target = "json" | "query" | "param" | "header" | "cookie" | "form";

const LOCATION = {
  json: "body",
  form: "body",
  query: "query",
  param: "path",
  header: "header",
  cookie: "cookie",
} as const satisfies Record<Target, string>;

type Checked = { success: boolean; target: string; data?: unknown; error?: unknown };

/** A router whose validation failures reach `onError` like every other error. */
export function router(options: Pick<RouterOptions, "getPath"> = {}): OpenAPIHono<AppEnv> {
  return new OpenAPIHono<AppEnv>({ ...options, defaultHook: assertValid });
}

function assertValid(result: Checked): undefined {
  const problem = problemOf(result);
  if (problem) throw problem;
}

/** Refuses with 400, for operations whose clients expect that status for an invalid request. */
export function assertWellFormed(result: Checked): undefined {
  const problem = problemOf(result);
  if (problem) throw new AppError("bad_request", problem.message);
}

function problemOf({ success, target, data, error }: Checked): AppError | null {
  if (!success) return invalidRequest(target as Target, error as z.core.$ZodError);
  if (target !== "json" || isShallow(data)) return null;
  return invalid(["body"], `is nested more than ${MAX_DEPTH} levels deep`, "too_deep");
}

/** Returns the origin of URLs in answers when the installation configures no public origin. */
export function originOf(url: string): string {
  return new URL(url).origin;
}

function invalidRequest(target: Target, error: z.core.$ZodError): AppError {
  const issues: Issue[] = error.issues.map((issue) => ({
    loc: [
      LOCATION[target],
      ...issue.path.map((key) => (typeof key === "number" ? key : String(key))),
    ],
    msg: issue.message,
    type: issue.code ?? "value_error",
  }));
  const text = issues.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ");
  return new AppError("invalid_request", text, { issues });
}

/** The one place that knows the wire shapes of errors: text for the agent server, `error` for runs sent in, a problem in version 2, `detail` elsewhere. */
export function onError(error: unknown, c: HonoContext<AppEnv>): Response {
  const failure = toAppError(error);
  if (failure.code === "internal" && !failure.answer)
    log.error("request_failed", error, {
      path: withoutToken(c.req.path),
      request_id: c.var.requestId,
    });
  const headers = new Headers(failure.answer?.headers);
  if (failure.retry_after_seconds !== undefined) {
    headers.set("Retry-After", String(failure.retry_after_seconds));
  }
  if (failure.code === "unauthenticated" && !failure.answer)
    headers.set("WWW-Authenticate", "Bearer");
  const status = failure.status;
  if (isAgentPath(c.req.path)) return toAgentError(c.req.raw, failure, headers);
  if (isIngestion(c.req.method, c.req.path)) {
    const body = { error: failure.message, details: failure.issues ?? null };
    return Response.json(body, { status, headers });
  }
  if (c.req.path.startsWith("/api/v2/")) {
    headers.set("Content-Type", "application/problem+json");
    return new Response(JSON.stringify(toProblem(failure, c.req.path)), { status, headers });
  }
  return Response.json({ detail: toDetail(failure) }, { status, headers });
}

function toAgentError(request: Request, { status, message }: AppError, headers: Headers) {
  if (isUpgrade(request)) return refusedSocket(request, status, message);
  return new Response(message, { status, headers });
}

/** A list with 422 always, also where no field is to blame; a text with all others. */
function toDetail({ code, issues, message }: AppError) {
  if (code !== "invalid_request") return issues ?? message;
  return issues ?? [{ loc: ["body"], msg: message, type: "value_error" }];
}

/** RFC 7807. */
function toProblem({ code, message, status }: AppError, instance: string) {
  const title = code.replaceAll("_", " ");
  return { type: "about:blank", title, status, detail: message, instance, remedy: null };
}

export function onNotFound(c: HonoContext<AppEnv>): Response {
  if (c.req.path === MALFORMED_PATH) {
    const text = "path: must not contain empty segments or escapes that are not UTF-8";
    return onError(new AppError("not_found", text), c);
  }
  const text = isAgentPath(c.req.path)
    ? "404 Not Found"
    : `${c.req.method} ${c.req.path} does not exist. See /openapi.json for all operations.`;
  return onError(new AppError("not_found", text), c);
}

function isAgentPath(path: string): boolean {
  return path.startsWith("/agents/");
}

function toAppError(error: unknown): AppError {
  if (error instanceof HTTPException) {
    if (error.status === 400) {
      return new AppError("bad_request", "Malformed JSON in request body", { cause: error });
    }
    if (error.status === 415) {
      const text = "Unsupported Content-Type: send application/json";
      return new AppError("unsupported_media_type", text, { cause: error });
    }
    if (error.status === 413) return new AppError("too_large", error.message, { cause: error });
  }
  return AppError.from(error);
}
