import type { Context } from "../../../shared/context.ts";
import { mapConcurrent } from "../../../shared/work/chunks.ts";
import { flushEntries } from "./publication.ts";
import type { WaitingPosition } from "./search.ts";
import { readDirectory } from "./stub.ts";

export type WaitingRow = WaitingPosition & { deployment_id: string };
export type WaitingDeployment = { deployment_id: string; rows: WaitingRow[]; total: number };

const AT_ONCE = 20;

/** Returns the waiting threads of each deployment that has some. Rows of one object begin with the longest wait. */
export async function findWaiting(
  ctx: Context,
  deployments: string[],
  { after, limit }: { after: WaitingPosition | null; limit: number },
): Promise<WaitingDeployment[]> {
  await flushEntries(ctx.env);
  const found = await mapConcurrent(deployments, AT_ONCE, async (deployment_id) => {
    const pages = await readDirectory(ctx.env, deployment_id, (directory) =>
      directory.findWaiting(ctx.caller.workspace_id, after, limit),
    );
    const rows = pages.flatMap((page) => page.rows.map((row) => ({ ...row, deployment_id })));
    return { deployment_id, rows, total: pages.reduce((sum, { total }) => sum + total, 0) };
  });
  return found.filter(({ total }) => total > 0);
}

/** Merges the rows of deployments, the longest wait first. */
export function mergeWaiting(deployments: WaitingDeployment[], limit: number): WaitingRow[] {
  const rows = deployments.flatMap(({ rows }) => rows);
  return rows.sort((one, other) => (isBefore(one, other) ? -1 : 1)).slice(0, limit);
}

function isBefore(one: WaitingRow, other: WaitingRow): boolean {
  if (one.state_updated_at !== other.state_updated_at)
    return one.state_updated_at < other.state_updated_at;
  return one.thread_id < other.thread_id;
}
