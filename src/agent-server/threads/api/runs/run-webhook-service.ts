import type { Context } from "../../../../shared/context.ts";
import { getDelivery, redeliver } from "../../../webhooks/service.ts";
import { threadNotFound } from "../../contract/state-answers.ts";
import { openThread, type ThreadRef } from "../threads/service.ts";

/** Sends a failed webhook again, or one that waits for its next attempt at once. */
export async function redeliverRunWebhook(ctx: Context, id: ThreadRef & { run_id: string }) {
  const { object, filters } = await openThread(ctx, id, "update", {});
  if (filters !== null && !(await object.getThread())) throw threadNotFound(id.thread_id);
  return redeliver(ctx, id);
}

/** Without its thread, a delivery is visible only to callers without filters. */
export async function getRunWebhook(ctx: Context, id: ThreadRef & { run_id: string }) {
  const { object, filters } = await openThread(ctx, id, "read", {});
  if (filters !== null && !(await object.getThread())) throw threadNotFound(id.thread_id);
  return getDelivery(ctx, id);
}
