import { deleteTasksOf, sweepTasks } from "./agent-server/a2a/task-rows.ts";
import { deleteCronsOf } from "./agent-server/crons/service.ts";
import { deleteStoreOf } from "./agent-server/store/service.ts";
import {
  deleteAssistantsOf,
  sweepAssistants,
} from "./agent-server/threads/api/assistants/assistant-purge.ts";
import { deleteThreadsOf } from "./agent-server/threads/api/threads/deletion.ts";
import { consumeWebhook } from "./agent-server/webhooks/consumer.ts";
import type { WebhookMessage } from "./agent-server/webhooks/lease.ts";
import {
  deleteWebhooksOf,
  resealWebhookSecrets,
  sweepDeliveryLogs,
  sweepWebhooks,
} from "./agent-server/webhooks/sweep.ts";
import { evaluateAlerts } from "./control-plane/alerts/sweep.ts";
import type { PrebuildMessage } from "./control-plane/builds/contract.ts";
import { consumeBuild, consumePrebuild } from "./control-plane/builds/queue/consumer.ts";
import type { BuildMessage, DeletionMessage } from "./control-plane/deployments/queue.ts";
import {
  consumeDeletion,
  type DeletionStep,
} from "./control-plane/deployments/rollout/deletion.ts";
import {
  resealSecrets,
  sweepBuilds,
  sweepDeletions,
  sweepDeliveries,
} from "./control-plane/deployments/rollout/sweep.ts";
import { sweepUploads } from "./control-plane/deployments/uploads/upload-service.ts";
import { recordTick } from "./control-plane/health/health-service.ts";
import { startMetrics } from "./control-plane/health/metrics-push.ts";
import { sweepLeftTokens } from "./control-plane/oauth/storage/left-tokens.ts";
import { resealGrants, sweepAuthorizations } from "./control-plane/oauth/storage/sweep.ts";
import { sweepEndedSessions } from "./control-plane/workspaces/ended-sessions.ts";
import type { ExportMessage, FileMessage } from "./exports/messages.ts";
import { consumeExport, consumeFile } from "./exports/progress/consumer.ts";
import { spawnWindows } from "./exports/progress/schedule.ts";
import { resealDestinations, sweepExports, sweepFiles } from "./exports/progress/sweep.ts";
import { isBeingExported } from "./exports/rows.ts";
import { handleRequest } from "./handle-request.ts";
import { type Job, runJobs, settleMessage } from "./shared/work/jobs.ts";
import { consumeTraceExpiry, sweepExpiredTraces } from "./traces/deletion/expiry.ts";
import {
  consumeProjectDeletion,
  sweepProjectDeletions,
} from "./traces/deletion/project-deletion.ts";
import type { ProjectDeletionMessage, TraceExpiryMessage } from "./traces/messages.ts";

export { CronObject } from "./agent-server/crons/object.ts";
export { ThreadCrons } from "./agent-server/crons/stub.ts";
export { StoreObject } from "./agent-server/store/object.ts";
export { ThreadSession } from "./agent-server/streaming/thread-session.ts";
export { DirectoryObject } from "./agent-server/threads/directory/object.ts";
export { ThreadObject } from "./agent-server/threads/object/object.ts";
export { AgentServer } from "./agent-server-entrypoint.ts";
export { AgentLog } from "./control-plane/deployments/logs/agent-log.ts";
export { AgentTail } from "./control-plane/deployments/logs/tail.ts";
export { MetricsObject } from "./control-plane/health/metrics-object.ts";
export { AgentTokens } from "./control-plane/oauth/authorizations/agent-tokens.ts";
export { TokenObject } from "./control-plane/oauth/storage/object.ts";
export { Egress } from "./shared/egress/agent-egress.ts";
export { LocationObject } from "./traces/locations/object.ts";
export { TracePartition } from "./traces/object/object.ts";

startMetrics();

/** Steps of the deletion of a deployment that delete the data of other features. */
const DELETION_STEPS: DeletionStep[] = [
  deleteCronsOf,
  deleteThreadsOf,
  deleteAssistantsOf,
  deleteStoreOf,
  deleteWebhooksOf,
  deleteTasksOf,
];

function sweepTraceExpiry(env: Env, now: Date): Promise<void> {
  return sweepExpiredTraces(env, now, isBeingExported);
}

const JOBS: Record<string, Job[]> = {
  "* * * * *": [
    sweepBuilds,
    sweepDeletions,
    sweepDeliveries,
    sweepUploads,
    sweepEndedSessions,
    sweepProjectDeletions,
    sweepTraceExpiry,
    spawnWindows,
    sweepExports,
    sweepFiles,
    sweepAuthorizations,
    sweepLeftTokens,
    sweepAssistants,
    sweepWebhooks,
    sweepDeliveryLogs,
    evaluateAlerts,
    sweepTasks,
    resealSecrets,
    resealDestinations,
    resealGrants,
    resealWebhookSecrets,
  ],
};

export type QueueMessage =
  | BuildMessage
  | PrebuildMessage
  | DeletionMessage
  | ProjectDeletionMessage
  | TraceExpiryMessage
  | ExportMessage
  | FileMessage
  | WebhookMessage;

export default {
  fetch: handleRequest,

  async queue(batch, env) {
    for (const message of batch.messages) {
      await settleMessage(message, (body) => consume(body, env));
    }
  },

  async scheduled(controller, env) {
    await runJobs(JOBS[controller.cron] ?? [], env, new Date());
    // Recorded last: the health check fails when no tick has ended for some time.
    await runJobs([recordTick], env, new Date());
  },
} satisfies ExportedHandler<Env, QueueMessage>;

function consume(message: QueueMessage, env: Env): Promise<void> {
  switch (message.type) {
    case "build":
      return consumeBuild(env, message);
    case "prebuild":
      return consumePrebuild(env, message);
    case "deployment_deletion":
      return consumeDeletion(env, message, DELETION_STEPS);
    case "project_deletion":
      return consumeProjectDeletion(env, message);
    case "trace_expiry":
      return consumeTraceExpiry(env, message, isBeingExported);
    case "export":
      return consumeExport(env, message);
    case "export_file":
      return consumeFile(env, message);
    case "run_webhook":
    case "next_webhook":
      return consumeWebhook(env, message);
    default:
      message satisfies never;
      throw new Error("No consumer knows this message");
  }
}
