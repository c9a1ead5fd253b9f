import type { Context as HonoContext } from "hono";
import { HTTPException } from "hono/http-exception";
import { MALFORMED_PATH } from "./agent-server/access/agent-urls.ts";
import { withoutToken } from "./paths.ts";
import type { AppEnv } from "./shared/context.ts";
import { AppError } from "./shared/errors.ts";
import { malformedJson } from "./shared/http/json-body.ts";
import { isUpgrade, refusedSocket } from "./shared/http/sockets.ts";
import { log } from "./shared/log.ts";
import { isIngestion, isOtlp } from "./traces/ingest/ingestion-paths.ts";
import { otlpError } from "./traces/otlp/answers.ts";

/**
 * Formats errors for clients: text for the agent server, `error` for ingested runs, a gRPC status for OTLP, a problem
 * for `/api/v2/`, and `detail` elsewhere.
 */
export async function onError(error: unknown, c: HonoContext<AppEnv>): Promise<Response> {
  const failure = await toAppError(error, c);
  if (failure.code === "internal" && !failure.answer)
    log.error("request_failed", error, {
      path: withoutToken(c.req.path),
      request_id: c.var.requestId,
    });
  return toResponse(failure, c);
}

function toResponse(failure: AppError, c: HonoContext<AppEnv>): Response {
  const headers = new Headers(failure.answer?.headers);
  if (failure.retry_after_seconds !== undefined) {
    headers.set("Retry-After", String(failure.retry_after_seconds));
  }
  if (failure.code === "unauthenticated" && !failure.answer)
    headers.set("WWW-Authenticate", "Bearer");
  const status = failure.status;
  const own = ownFormat(c.req.path);
  if (own !== null) return own(c.req.raw, failure, headers);
  if (isIngestion(c.req.method, c.req.path)) {
    const body = { error: failure.label ?? failure.message, details: failure.issues ?? null };
    return Response.json(body, { status, headers });
  }
  if (c.req.path.startsWith("/api/v2/")) {
    headers.set("Content-Type", "application/problem+json");
    return new Response(JSON.stringify(toProblem(failure, c.req.path)), { status, headers });
  }
  const body = { ...toLabel(failure, c.req.path), detail: toDetail(failure) };
  return Response.json(body, { status, headers });
}

/** Returns the format of the agent server and of OTLP, `null` for other paths. */
function ownFormat(path: string) {
  if (isAgentPath(path)) return toAgentError;
  return isOtlp(path) ? otlpError : null;
}

/** Returns the code in `error` for paths below /api/. Clients of the control plane read only the text. */
function toLabel({ label }: AppError, path: string) {
  return label !== undefined && path.startsWith("/api/") ? { error: label } : {};
}

function toAgentError(request: Request, { status, message }: AppError, headers: Headers) {
  if (isUpgrade(request)) return refusedSocket(request, status, message);
  return new Response(message, { status, headers });
}

/** Returns the list of issues, or the text of an error without issues. A 422 always has a list. */
function toDetail({ code, issues, message }: AppError) {
  if (code !== "invalid_request") return issues ?? message;
  return issues ?? [{ loc: ["body"], msg: message, type: "value_error" }];
}

/** RFC 7807. */
function toProblem({ code, message, status }: AppError, instance: string) {
  const title = code.replaceAll("_", " ");
  return { type: "about:blank", title, status, detail: message, instance, remedy: null };
}

/** Returns a handler that answers 405 for a path that has only other methods, and 404 otherwise. */
export function notFoundHandler(methodsOf: (path: string) => string[]) {
  return (c: HonoContext<AppEnv>): Response => {
    const { method, path } = c.req;
    const allowed = path === MALFORMED_PATH ? [] : methodsOf(path);
    if (allowed.length === 0 || allowed.includes(method)) return onNotFound(c);
    const text = `${method} ${path} does not exist: use ${allowed.join(" or ")}.`;
    const answer = toResponse(new AppError("method_not_allowed", text), c);
    answer.headers.set("Allow", allowed.join(", "));
    return answer;
  };
}

function onNotFound(c: HonoContext<AppEnv>): Response {
  if (c.req.path === MALFORMED_PATH) {
    const text =
      "path: must not contain empty segments, escapes that are not UTF-8, or two @ after /agents/";
    const error = new AppError("not_found", text);
    const isOfAgent = isAgentPath(new URL(c.req.url).pathname);
    return isOfAgent ? toAgentError(c.req.raw, error, new Headers()) : toResponse(error, c);
  }
  const text = isAgentPath(c.req.path)
    ? "404 Not Found"
    : `${c.req.method} ${c.req.path} does not exist. See /openapi.json for all operations.`;
  return toResponse(new AppError("not_found", text), c);
}

function isAgentPath(path: string): boolean {
  return path.startsWith("/agents/");
}

async function toAppError(error: unknown, c: HonoContext<AppEnv>): Promise<AppError> {
  if (error instanceof HTTPException) {
    if (error.status === 400) return malformedBody(c, error);
    if (error.status === 415) {
      const text = "Unsupported Content-Type: send application/json";
      return new AppError("unsupported_media_type", text, { cause: error });
    }
    if (error.status === 413) return new AppError("too_large", error.message, { cause: error });
  }
  return AppError.from(error);
}

/** Parses the body again to find what is wrong with it: the validator's error does not name it. */
async function malformedBody({ req }: HonoContext<AppEnv>, error: HTTPException) {
  try {
    await req.json();
    return malformedJson(error);
  } catch (cause) {
    return malformedJson(cause);
  }
}
