// Entry of the main Worker on one machine. It is the product's entry, with agents in separate processes.
import { env } from "cloudflare:workers";
import { setIsolateOpener } from "../../src/control-plane/deployments/isolate/isolate.ts";
import { separateWriters } from "../../src/exports/files/writer-memory.ts";
import worker, { type QueueMessage } from "../../src/index.ts";
import { RESUME } from "../crons.ts";
import { consumeInBackground } from "./deliveries.ts";
import { isolateProxy } from "./isolate-proxy.ts";
import { resumeRuns } from "./resume.ts";

export * from "../../src/index.ts";
export { IsolateBackend } from "./isolate-backend.ts";

// The binding is missing with HEDDLE_AGENTS_IN_MAIN: then all agents run in this process.
if ("PROCESSES" in env) setIsolateOpener(isolateProxy);
separateWriters();

export default {
  ...worker,
  queue: consumeInBackground,
  // serve.ts fires the cron RESUME once after each start of this process.
  scheduled: (controller, env) =>
    controller.cron === RESUME ? resumeRuns(env) : worker.scheduled(controller, env),
} satisfies ExportedHandler<Env, QueueMessage>;
