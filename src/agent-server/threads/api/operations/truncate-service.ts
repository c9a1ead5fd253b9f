import type { Context } from "../../../../shared/context.ts";
import { AppError, invalid } from "../../../../shared/errors.ts";
import { openAgent } from "../../../access/service.ts";
import { emptyStoreOf } from "../../../store/service.ts";
import { deleteAssistantsOf } from "../assistants/assistant-purge.ts";
import { makeSystemAssistants } from "../assistants/system-assistants.ts";
import { deleteThreadsOf } from "../threads/deletion.ts";
import type { TruncateRequest } from "./truncate-schema.ts";

/** Deletes the requested data of a deployment between tests. Recreates deleted system assistants at once. */
export async function truncate(ctx: Context, ref: string, request: TruncateRequest): Promise<void> {
  const agent = await openAgent(ctx, ref, "write");
  const { deployment_id } = agent;
  if (ctx.access?.user)
    throw new AppError("forbidden", "Users of an agent can only delete their own resources.");
  if ((request.runs || request.checkpointer) && !request.threads) {
    throw invalid(
      ["body", "threads"],
      "must be true too: runs and checkpoints are deleted with their threads",
    );
  }
  const { env } = ctx;
  if (request.threads) await untilDone(() => deleteThreadsOf(env, deployment_id));
  if (request.assistants) {
    await untilDone(() => deleteAssistantsOf(env, deployment_id));
    await makeSystemAssistants(ctx, agent);
  }
  if (request.store) await emptyStoreOf(env, deployment_id);
}

async function untilDone(work: () => Promise<boolean>): Promise<void> {
  while (!(await work()));
}
