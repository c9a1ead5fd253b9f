import { createMiddleware } from "hono/factory";
import type { AppEnv, Caller } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { closeReason, isSendable } from "../../shared/http/sockets.ts";
import { log } from "../../shared/log.ts";
import { type StreamWatch, watchedStream } from "../../shared/work/watched-stream.ts";
import { assertCredentialValid, credentialOf } from "./auth.ts";
import { CALLER_AGE_MS } from "./caller-cache.ts";
import { assertCachedPrincipal, isRevocable } from "./service.ts";

/** Together with `CALLER_AGE_MS` less than the documented 10 seconds. */
const CHECK_MS = 4000;

/**
 * Ends responses that outlive their request when the caller may no longer act: streams and sockets of agents and of
 * their HTTP apps, and long polls. An expired token and a rotated secret end them too. The check runs in the Worker, so
 * that objects with idle sockets hibernate.
 */
export const endWithPrincipal = createMiddleware<AppEnv>(async (c, next) => {
  await next();
  const { ctx } = c.var as Partial<AppEnv["Variables"]>;
  if (ctx === undefined || !isRevocable(ctx.caller)) return;
  const watch: StreamWatch = (end) => watchPrincipal(c.env, ctx.caller, end);
  const { res } = c;
  const watched = res.webSocket ? endSocket(res, res.webSocket, watch) : endStream(res, watch);
  if (watched === res) return;
  // Without this, Hono merges the old and the new response into another one, which has no socket.
  c.res = undefined;
  c.res = watched;
});

function endStream(response: Response, watch: StreamWatch): Response {
  const { body, headers } = response;
  // Long polls and HTTP apps of agents set an encoding: see `agent-server/threads/api/run-http.ts` and
  // `agent-server/access/app.ts`.
  const isStream =
    headers.get("Content-Type")?.startsWith("text/event-stream") === true ||
    headers.has("Content-Encoding");
  if (body === null || !isStream) return response;
  return new Response(watchedStream(body, watch), response);
}

function endSocket(response: Response, upstream: WebSocket, watch: StreamWatch): Response {
  const { 0: client, 1: server } = new WebSocketPair();
  for (const socket of [upstream, server]) {
    socket.accept({ allowHalfOpen: true });
    socket.binaryType = "arraybuffer";
  }
  const stop = watch(({ status, message }) => {
    for (const socket of [server, upstream]) socket.close(4000 + status, closeReason(message));
  });
  relay(upstream, server, stop);
  relay(server, upstream, stop);
  return new Response(null, { status: 101, webSocket: client, headers: response.headers });
}

/**
 * workerd has no `bufferedAmount` and no event when a message is sent, and it reads an accepted socket without pause. So
 * the messages for a slow client queue in this isolate's memory without a limit that could be checked here.
 */
function relay(from: WebSocket, to: WebSocket, stop: () => void): void {
  from.addEventListener("message", ({ data }) => {
    if (to.readyState === WebSocket.OPEN) to.send(data);
  });
  from.addEventListener("close", ({ code, reason }) => {
    stop();
    to.close(isSendable(code) ? code : 1000, reason);
  });
  from.addEventListener("error", () => {
    stop();
    to.close(1011, "The other side of the socket failed.");
  });
}

/** @returns a function that ends the watch */
function watchPrincipal(env: Env, caller: Caller, end: (refusal: AppError) => void): () => void {
  const timer = setInterval(async () => {
    const refusal = await refusalOf(env, caller);
    if (refusal === null) return;
    clearInterval(timer);
    end(refusal);
  }, CHECK_MS);
  return () => clearInterval(timer);
}

/** @returns `null` when the principal may act. */
async function refusalOf(env: Env, caller: Caller): Promise<AppError | null> {
  const { workspace_id } = caller;
  const credential = credentialOf(caller);
  try {
    await assertCachedPrincipal(env, caller, CALLER_AGE_MS);
    if (credential !== null) await assertCredentialValid(env, credential, workspace_id);
    return null;
  } catch (error) {
    const refusal = AppError.from(error);
    if (refusal.status < 500) return refusal;
    // Without D1 nothing can be revoked either: the next check decides.
    log.error("principal_check_failed", error, { workspace_id });
    return null;
  }
}
