import type { Context } from "../../../shared/context.ts";
import { getDelivery, redeliver } from "../../webhooks/service.ts";
import { threadNotFound } from "../loop/state-answers.ts";
import { openThread, type ThreadRef } from "../service/service.ts";

/** Tells a receiver once more that did not take it, or at once what waits for its next attempt. */
export async function redeliverRunWebhook(ctx: Context, id: ThreadRef & { run_id: string }) {
  const { object, filters } = await openThread(ctx, id, "update", {});
  if (filters !== null && !(await object.getThread())) throw threadNotFound(id.thread_id);
  return redeliver(ctx, id);
}

/** Without a thread that says whose it was, it is for those who may see all threads. */
export async function getRunWebhook(ctx: Context, id: ThreadRef & { run_id: string }) {
  const { object, filters } = await openThread(ctx, id, "read", {});
  if (filters !== null && !(await object.getThread())) throw threadNotFound(id.thread_id);
  return getDelivery(ctx, id);
}
