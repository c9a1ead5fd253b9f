// The main script's entry on one machine: the product's, with agents in other processes.
import { runIsolatesElsewhere } from "../../../src/control-plane/deployments/isolate/isolate.ts";
import { separateWriters } from "../../../src/exports/files/writer-memory.ts";
import worker, { type QueueMessage } from "../../../src/index.ts";
import { RESUME } from "../crons.ts";
import { consumeBehind } from "./deliveries.ts";
import { isolateProxy } from "./isolate-proxy.ts";
import { resumeRuns } from "./resume.ts";

export * from "../../../src/index.ts";
export { IsolateBackend } from "./isolate-backend.ts";

runIsolatesElsewhere(isolateProxy);
separateWriters();

/** The stack listens on loopback: every client without a proxy in front has this address. */
const LOOPBACK = "127.0.0.1";

/** Rate limits of callers without a key count by CF-Connecting-IP. A proxy sets it; otherwise clients share one limit. */
function withClient(request: Request): Request {
  if (request.headers.get("CF-Connecting-IP")) return request;
  const headers = new Headers(request.headers);
  headers.set("CF-Connecting-IP", LOOPBACK);
  return new Request(request, { headers });
}

export default {
  ...worker,
  fetch: (request, env, ctx) => worker.fetch(withClient(request), env, ctx),
  queue: consumeBehind,
  scheduled: (controller, env) =>
    controller.cron === RESUME ? resumeRuns(env) : worker.scheduled(controller, env),
} satisfies ExportedHandler<Env, QueueMessage>;
