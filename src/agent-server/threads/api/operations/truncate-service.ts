import type { Context } from "../../../../shared/context.ts";
import { AppError, invalid } from "../../../../shared/errors.ts";
import { openAgent } from "../../../access/service.ts";
import { emptyStoreOf } from "../../../store/service.ts";
import type { Truncate } from "../../contract/requests/schema.ts";
import { deleteAssistantsOf } from "../assistants/assistant-purge.ts";
import { makeSystemAssistants } from "../assistants/system-assistants.ts";
import { deleteThreadsOf } from "../threads/deletion.ts";

/** Empties a deployment between tests. System assistants are recreated at once. */
export async function truncate(ctx: Context, ref: string, what: Truncate): Promise<void> {
  const agent = await openAgent(ctx, ref, "write");
  const { deployment_id } = agent;
  if (ctx.access?.user)
    throw new AppError("forbidden", "Users of an agent can only delete their own resources.");
  if ((what.runs || what.checkpointer) && !what.threads) {
    throw invalid(
      ["body", "threads"],
      "must be true too: runs and checkpoints are deleted with their threads",
    );
  }
  const { env } = ctx;
  if (what.threads) await untilDone(() => deleteThreadsOf(env, deployment_id));
  if (what.assistants) {
    await untilDone(() => deleteAssistantsOf(env, deployment_id));
    await makeSystemAssistants(ctx, agent);
  }
  if (what.store) await emptyStoreOf(env, deployment_id);
}

async function untilDone(work: () => Promise<boolean>): Promise<void> {
  while (!(await work()));
}
