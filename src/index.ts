import { deleteTasksOf, sweepTasks } from "./a2a/task-rows.ts";
import { consumeBuild } from "./builds/consumer.ts";
import { deleteCronsOf } from "./crons/service.ts";
import { type Cleaner, consumeDeletion } from "./deployments/deletion.ts";
import { isBuildMessage, isDeletionMessage } from "./deployments/queue.ts";
import {
  resealSecrets,
  sweepBuilds,
  sweepDeletions,
  sweepDeliveries,
} from "./deployments/sweep.ts";
import { consumeExport, consumeFile } from "./exports/consumer.ts";
import { isExportMessage, isFileMessage } from "./exports/queue.ts";
import { spawnWindows } from "./exports/schedule.ts";
import { resealDestinations, sweepExports, sweepFiles } from "./exports/sweep.ts";
import { resealGrants, sweepAuthorizations } from "./oauth/sweep.ts";
import { served } from "./served.ts";
import { type Job, runJobs } from "./shared/jobs.ts";
import { log } from "./shared/log.ts";
import { deleteStoreOf } from "./store/service.ts";
import { deleteAssistantsOf, sweepAssistants } from "./threads/assistant-purge.ts";
import { deleteThreadsOf } from "./threads/deletion.ts";
import {
  consumeProjectDeletion,
  isProjectDeletionMessage,
  sweepProjectDeletions,
} from "./traces/deletion.ts";
import { consumeWebhook, isWebhookMessage } from "./webhooks/consumer.ts";
import {
  deleteWebhooksOf,
  resealWebhookSecrets,
  sweepDeliveryLogs,
  sweepWebhooks,
} from "./webhooks/sweep.ts";

export { AgentServer } from "./agent-server.ts";
export { CronObject } from "./crons/object.ts";
export { ThreadCrons } from "./crons/thread-crons.ts";
export { AgentLog } from "./deployments/agent-log.ts";
export { AgentTail } from "./deployments/tail.ts";
export { AgentTokens } from "./oauth/agent-tokens.ts";
export { TokenObject } from "./oauth/object.ts";
export { Egress } from "./shared/agent-egress.ts";
export { StoreObject } from "./store/object.ts";
export { ThreadObject } from "./threads/object.ts";
export { ThreadSession } from "./threads/protocol/thread-session.ts";
export { TracePartition } from "./traces/object.ts";

/** What goes with a deployment and is not the control plane's own. */
const CLEANERS: Cleaner[] = [
  deleteCronsOf,
  deleteThreadsOf,
  deleteAssistantsOf,
  deleteStoreOf,
  deleteWebhooksOf,
  deleteTasksOf,
];

const JOBS: Record<string, Job[]> = {
  "* * * * *": [
    sweepBuilds,
    sweepDeletions,
    sweepDeliveries,
    sweepProjectDeletions,
    spawnWindows,
    sweepExports,
    sweepFiles,
    sweepAuthorizations,
    sweepAssistants,
    sweepWebhooks,
    sweepDeliveryLogs,
    sweepTasks,
    resealSecrets,
    resealDestinations,
    resealGrants,
    resealWebhookSecrets,
  ],
};

const RETRY_SECONDS = 2;

export default {
  fetch: served.fetch,

  async queue(batch, env) {
    for (const message of batch.messages) await settle(message, env);
  },

  async scheduled(controller, env) {
    await runJobs(JOBS[controller.cron] ?? [], env, new Date());
  },
} satisfies ExportedHandler<Env>;

async function settle(message: Message, env: Env): Promise<void> {
  try {
    await consume(message.body, env);
    message.ack();
  } catch (error) {
    log.error("message_failed", error, { message_id: message.id, attempts: message.attempts });
    message.retry({ delaySeconds: RETRY_SECONDS });
  }
}

function consume(body: unknown, env: Env): Promise<void> {
  if (isBuildMessage(body)) return consumeBuild(env, body);
  if (isDeletionMessage(body)) return consumeDeletion(env, body, CLEANERS);
  if (isProjectDeletionMessage(body)) return consumeProjectDeletion(env, body);
  if (isExportMessage(body)) return consumeExport(env, body);
  if (isFileMessage(body)) return consumeFile(env, body);
  if (isWebhookMessage(body)) return consumeWebhook(env, body);
  throw new Error("No consumer knows this message");
}
