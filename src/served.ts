import { agentServerUrl } from "./agent-server/access/agent-urls.ts";
import { withoutPrefix } from "./agent-server/access/http-settings.ts";
import { internalCallerOf } from "./agent-server/access/internal-caller.ts";
import { parseAgentPath } from "./agent-server/access/request.ts";
import { httpSettings } from "./agent-server/access/service.ts";
import { createApp } from "./app.ts";
import { isKnownToServe } from "./control-plane/deployments/active.ts";
import { servedRevision } from "./control-plane/deployments/api/service.ts";
import { toRoutePath } from "./paths.ts";
import { AppError } from "./shared/errors.ts";
import { assertAnonymousRate } from "./shared/http/rate-limit.ts";
import { log } from "./shared/log.ts";

const app = createApp();

export const served = { fetch };

async function fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
  try {
    return await app.fetch(await unmount(request, env), env, ctx);
  } catch (error) {
    return toResponse(error);
  }
}

/** Errors of `unmount`, which come before the routes and their formats. */
function toResponse(error: unknown): Response {
  const failure = AppError.from(error);
  if (failure.code === "internal") log.error("request_failed", error);
  const { status, message, retry_after_seconds: seconds } = failure;
  const headers = seconds === undefined ? {} : { "Retry-After": String(seconds) };
  return new Response(message, { status, headers });
}

/**
 * Removes `http.mount_prefix` of the agent from the URL, once and before routing: a path that repeats the prefix
 * keeps the rest of it and matches no route. The body stays the same stream. A reference that the isolate does not know is
 * read from D1 before the caller is, so these reads are limited by network.
 */
async function unmount(request: Request, env: Env): Promise<Request> {
  const { ref, path } = parseAgentPath(toRoutePath(request, { env }));
  // An agent's app has the path without the prefix already, and its routes are behind it.
  if (ref === "" || internalCallerOf(env)?.kind === "builtin") return request;
  if (!isKnownToServe(ref)) assertAnonymousRate(request.headers);
  const served = await servedRevision(env, ref);
  const unmounted = served && withoutPrefix(httpSettings(served.config), path);
  if (!unmounted) return request;
  const { search } = new URL(request.url);
  return new Request(agentServerUrl(request, env, ref) + unmounted + search, request);
}
