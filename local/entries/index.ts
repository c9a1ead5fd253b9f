// The main script's entry on one machine: the product's, with agents in other processes.
import { env } from "cloudflare:workers";
import { setIsolateOpener } from "../../src/control-plane/deployments/isolate/isolate.ts";
import { separateWriters } from "../../src/exports/files/writer-memory.ts";
import worker, { type QueueMessage } from "../../src/index.ts";
import { RESUME } from "../crons.ts";
import { consumeBehind } from "./deliveries.ts";
import { isolateProxy } from "./isolate-proxy.ts";
import { resumeRuns } from "./resume.ts";

export * from "../../src/index.ts";
export { IsolateBackend } from "./isolate-backend.ts";

// Without it the operator has all agents in this process.
if ("PROCESSES" in env) setIsolateOpener(isolateProxy);
separateWriters();

export default {
  ...worker,
  queue: consumeBehind,
  scheduled: (controller, env) =>
    controller.cron === RESUME ? resumeRuns(env) : worker.scheduled(controller, env),
} satisfies ExportedHandler<Env, QueueMessage>;
