import type { ActiveRevision } from "../../control-plane/deployments/api/service.ts";
import { agentIsolate } from "../../control-plane/deployments/isolate/isolate.ts";
import type { AgentUser } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { reachIsolate } from "./agent-auth.ts";
import type { InternalCaller } from "./internal-caller.ts";
import { ownHeaders } from "./request.ts";

/** Of an app that calls its own server from what is called so. */
const MAX_DEPTH = 8;

type Forwarded = {
  served: ActiveRevision;
  /** URL of the agent server, without a slash at its end, and the path of the request below it. */
  base_url: string;
  path: string;
  /** Where the routes of the app end. */
  internal: InternalCaller;
  user: AgentUser | null;
  /** Whose tokens open the workspace here; see `ownHeaders`. */
  issuer: string | null;
};

/** Hands a request to the agent's HTTP app, at the root of a server. Nothing of it is held back. */
export async function callApp(env: Env, request: Request, to: Forwarded): Promise<Response> {
  const { served, base_url, path, internal, user, issuer } = to;
  if (internal.depth > MAX_DEPTH) {
    const text = `The agent's app called its own server ${MAX_DEPTH} times recursively.`;
    throw AppError.answer(text, { status: 508, headers: [] });
  }
  const url = new URL(request.url);
  url.pathname = path;
  const headers = new Headers(ownHeaders(request.headers, issuer));
  const server = { base_url, internal: toClient(internal) };
  const builtin = { base_url, internal };
  const app = agentIsolate(env, served, { server, builtin, user });
  const { method } = request;
  const body = request.body && detachable(request.body);
  const init = { method, headers, body, redirect: "manual" } as const;
  return inPieces(await reachIsolate(served, () => app.fetch(url, init)));
}

/** Who compresses on the way collects what comes in pieces, and tells all of it at the end. */
function inPieces(response: Response): Response {
  const { body, headers } = response;
  const isKnown = headers.has("Content-Length") || headers.has("Content-Encoding");
  if (body === null || isKnown || isEventStream(headers)) return response;
  const passed = new Response(body, response);
  passed.headers.set("Content-Encoding", "identity");
  return passed;
}

/** Nobody compresses these. */
function isEventStream(headers: Headers): boolean {
  return headers.get("Content-Type")?.startsWith("text/event-stream") === true;
}

/** A read that fails after the app has answered fails here, and not as an uncaught error of the Worker. */
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
