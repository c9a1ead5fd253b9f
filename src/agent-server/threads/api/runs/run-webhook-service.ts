import type { Context } from "../../../../shared/context.ts";
import { getDelivery, redeliver } from "../../../webhooks/service.ts";
import { threadNotFound } from "../../contract/state-answers.ts";
import { openThread, type ThreadRef } from "../threads/service.ts";

/** Starts the attempts of a failed webhook again, or makes the next attempt of a pending one now. */
export async function redeliverRunWebhook(ctx: Context, id: ThreadRef & { run_id: string }) {
  const { object, filters } = await openThread(ctx, id, "update", {});
  if (filters !== null && !(await object.getThread())) throw threadNotFound(id.thread_id);
  return redeliver(ctx, id);
}

/** Returns the delivery. After the thread is deleted, only callers without authorization filters may read it. */
export async function getRunWebhook(ctx: Context, id: ThreadRef & { run_id: string }) {
  const { object, filters } = await openThread(ctx, id, "read", {});
  if (filters !== null && !(await object.getThread())) throw threadNotFound(id.thread_id);
  return getDelivery(ctx, id);
}
