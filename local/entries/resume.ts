// Wakes the threads whose runs a previous process left unfinished.
import { eq } from "drizzle-orm";
import { visitBusyThreads } from "../../src/agent-server/threads/directory/busy-threads.ts";
import { threadObject } from "../../src/agent-server/threads/object/stub.ts";
import { deployments } from "../../src/control-plane/deployments/table.ts";
import { database, jobContext } from "../../src/shared/context.ts";
import { mapConcurrent } from "../../src/shared/work/chunks.ts";

type DeploymentKey = { deployment_id: string; workspace_id: string };

/**
 * Maximum number of deployments, and of threads of each, that are woken at once. All objects share one thread of the
 * processor: more calls would only delay the first step.
 */
const AT_ONCE = 4;

/** Ignores errors of a deployment: the heartbeat of a thread wakes it as well, up to 15 seconds later. */
export async function resumeRuns(env: Env): Promise<void> {
  const { id, workspace_id } = deployments;
  const rows = await database(env)
    .select({ deployment_id: id, workspace_id })
    .from(deployments)
    .where(eq(deployments.status, "READY"));
  await mapConcurrent(rows, AT_ONCE, (row) => resumeDeployment(env, row).catch(() => {}));
}

export async function resumeDeployment(env: Env, { deployment_id, workspace_id }: DeploymentKey) {
  const ctx = jobContext(env, workspace_id, "resume");
  await visitBusyThreads(ctx, { deployment_id, with_temporary: true }, async (ids) => {
    const open = (thread_id: string) => threadObject(env, deployment_id, thread_id).getThread();
    await mapConcurrent(ids, AT_ONCE, open);
  });
}
