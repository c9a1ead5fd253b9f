import { servedRevision } from "../../control-plane/deployments/api/service.ts";
import { agentServerUrl, toRoutePath } from "../../shared/http/paths.ts";
import { httpSettings, withoutPrefix } from "./http-settings.ts";
import { internalCallerOf } from "./internal-caller.ts";
import { parseAgentPath } from "./request.ts";

/**
 * Removes `http.mount_prefix` of the agent from the URL, once and before routing: a path that repeats the prefix
 * keeps the rest of it and matches no route. The body stays the same stream.
 */
export async function unmount(request: Request, env: Env): Promise<Request> {
  const { ref, path } = parseAgentPath(toRoutePath(request, { env }));
  // An agent's app has the path without the prefix already, and its routes are behind it.
  if (ref === "" || internalCallerOf(env)?.kind === "builtin") return request;
  const served = await servedRevision(env, ref);
  const unmounted = served && withoutPrefix(httpSettings(served.config), path);
  if (!unmounted) return request;
  const { search } = new URL(request.url);
  return new Request(agentServerUrl(request, env, ref) + unmounted + search, request);
}
