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

export async function handleRequest(
  request: Request,
  env: Env,
  ctx: ExecutionContext,
): Promise<Response> {
  try {
    return await app.fetch(await unmount(request, env), env, ctx);
  } catch (error) {
    return toResponse(error);
  }
}

/** Formats errors of `unmount` as text: they occur before the routes, so `onError` does not see them. */
function toResponse(error: unknown): Response {
  const failure = AppError.from(error);
  if (failure.code === "internal") log.error("request_failed", error);
  const { status, message, retry_after_seconds: seconds } = failure;
  const headers = seconds === undefined ? {} : { "Retry-After": String(seconds) };
  return new Response(message, { status, headers });
}

/**
 * Removes the agent's `http.mount_prefix` from the URL, before routing. Removes it only once: /p/p/threads becomes
 * /p/threads, which matches no route. May read the revision from D1 before the caller is authenticated, so references that
 * this isolate has not cached are rate-limited by client network.
 */
async function unmount(request: Request, env: Env): Promise<Request> {
  const { ref, path } = parseAgentPath(toRoutePath(request, { env }));
  // The agent's app already received the path without the prefix. This call goes to the routes behind the app.
  if (ref === "" || internalCallerOf(env)?.kind === "builtin") return request;
  if (!isKnownToServe(ref)) assertAnonymousRate(request.headers);
  const revision = await servedRevision(env, ref);
  const unmounted = revision && withoutPrefix(httpSettings(revision.config), path);
  if (!unmounted) return request;
  const { search } = new URL(request.url);
  return new Request(agentServerUrl(request, env, ref) + unmounted + search, request);
}
