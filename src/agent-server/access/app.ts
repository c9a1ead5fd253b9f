import type { ActiveRevision } from "../../control-plane/deployments/api/service.ts";
import { agentIsolate } from "../../control-plane/deployments/isolate/isolate.ts";
import type { AgentUser } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { withIsolateErrors } from "./agent-auth.ts";
import type { InternalCaller } from "./internal-caller.ts";
import { withoutWorkspaceCredentials } from "./request.ts";

/** Maximum depth of nested calls of an app to its own server. */
const MAX_DEPTH = 8;

type Forwarded = {
  revision: ActiveRevision;
  /** URL of the agent server, without a slash at its end, and the path of the request below it. */
  base_url: string;
  path: string;
  /** Caller of the routes behind the app. */
  internal: InternalCaller;
  user: AgentUser | null;
  /** Issuer whose tokens authenticate for the workspace; see `withoutWorkspaceCredentials`. */
  issuer: string | null;
};

/** Forwards a request to the agent's HTTP app without buffering. */
export async function callApp(env: Env, request: Request, to: Forwarded): Promise<Response> {
  const { revision, base_url, path, internal, user, issuer } = to;
  if (internal.depth > MAX_DEPTH) {
    const text = `The agent's app called its own server ${MAX_DEPTH} times recursively.`;
    throw AppError.answer(text, { status: 508, headers: [] });
  }
  const url = new URL(request.url);
  url.pathname = path;
  const headers = new Headers(withoutWorkspaceCredentials(request.headers, issuer));
  const server = { base_url, internal: toClient(internal) };
  const builtin = { base_url, internal };
  const app = agentIsolate(env, revision, { server, builtin, user });
  const { method } = request;
  const body = request.body && detachable(request.body);
  const init = { method, headers, body, redirect: "manual" } as const;
  return withoutBuffering(await withIsolateErrors(revision, () => app.fetch(url, init)));
}

/** Proxies buffer compressed chunked bodies; `identity` prevents that. */
function withoutBuffering(response: Response): Response {
  const { body, headers } = response;
  const isComplete = headers.has("Content-Length") || headers.has("Content-Encoding");
  if (body === null || isComplete || isEventStream(headers)) return response;
  const passed = new Response(body, response);
  passed.headers.set("Content-Encoding", "identity");
  return passed;
}

function isEventStream(headers: Headers): boolean {
  return headers.get("Content-Type")?.startsWith("text/event-stream") === true;
}

/** Passes a body on. Read errors after the app has responded would otherwise be uncaught errors of the Worker. */
function detachable(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        controller.error(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function toClient({ deployment_id, ref, depth }: InternalCaller): InternalCaller {
  return { kind: "client", deployment_id, ref, depth };
}
