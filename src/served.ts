import { agentServerUrl } from "./agent-server/access/agent-urls.ts";
import { withoutPrefix } from "./agent-server/access/http-settings.ts";
import { internalCallerOf } from "./agent-server/access/internal-caller.ts";
import { parseAgentPath } from "./agent-server/access/request.ts";
import { httpSettings } from "./agent-server/access/service.ts";
import { createApp } from "./app.ts";
import { servedRevision } from "./control-plane/deployments/api/service.ts";
import { toRoutePath } from "./paths.ts";
import { log } from "./shared/log.ts";

const app = createApp();

export const served = { fetch };

async function fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
  try {
    return await app.fetch(await unmount(request, env), env, ctx);
  } catch (error) {
    log.error("request_failed", error);
    return new Response("Internal error", { status: 500 });
  }
}

/**
 * Removes `http.mount_prefix` of the agent from the URL, once and before routing: a path that repeats the prefix
 * keeps the rest of it and matches no route. The body stays the same stream.
 */
async function unmount(request: Request, env: Env): Promise<Request> {
  const { ref, path } = parseAgentPath(toRoutePath(request, { env }));
  // An agent's app has the path without the prefix already, and its routes are behind it.
  if (ref === "" || internalCallerOf(env)?.kind === "builtin") return request;
  const served = await servedRevision(env, ref);
  const unmounted = served && withoutPrefix(httpSettings(served.config), path);
  if (!unmounted) return request;
  const { search } = new URL(request.url);
  return new Request(agentServerUrl(request, env, ref) + unmounted + search, request);
}
