import { WorkerEntrypoint } from "cloudflare:workers";
import {
  type InternalCaller,
  isOwnServer,
  withInternalCaller,
} from "./agent-server/access/internal-caller.ts";
import { handleRequest } from "./handle-request.ts";
import { toRoutePath } from "./paths.ts";

type ServerProps = {
  /** URL of one deployment's agent server, without a slash at its end. */
  base_url: string;
  internal: InternalCaller;
};

/**
 * The agent server of one deployment, as a capability for the isolate of its agent. The props fix the deployment. The URL
 * of a request chooses only the path below the server.
 */
export class AgentServer extends WorkerEntrypoint<Env, ServerProps> {
  override async fetch(request: Request): Promise<Response> {
    const { base_url, internal } = this.ctx.props;
    const { pathname, search } = new URL(request.url);
    const headers = new Headers(request.headers);
    // The agent's code chooses this header. Without the header, `limitBody` counts the bytes of the body.
    headers.delete("Content-Length");
    // An internal call comes from no network. The agent's code could name any address.
    headers.delete("CF-Connecting-IP");
    const own = new Request(new Request(base_url + pathname + search, request), { headers });
    const env = withInternalCaller(this.env, internal);
    if (!isOwnServer(internal, toRoutePath(own, { env }))) {
      return new Response("404 Not Found", { status: 404 });
    }
    return handleRequest(own, env, this.ctx);
  }
}
