import type { Context } from "../shared/context.ts";
import { getDelivery } from "../webhooks/service.ts";
import { openThread, type ThreadRef } from "./service.ts";
import { threadNotFound } from "./state-answers.ts";

/** Without a thread that says whose it was, it is for those who may see all threads. */
export async function getRunWebhook(ctx: Context, id: ThreadRef & { run_id: string }) {
  const { object, filters } = await openThread(ctx, id, "read", {});
  if (filters !== null && !(await object.getThread())) throw threadNotFound(id.thread_id);
  return getDelivery(ctx, id);
}
