import { and, eq, lt } from "drizzle-orm";
import { type Context, database } from "../../shared/context.ts";
import { deleteSome, inWorkspace } from "../../shared/storage/sql.ts";
import { a2a_tasks } from "./table.ts";

export type TaskRow = typeof a2a_tasks.$inferSelect;

/** Retention of task ids. Threads and runs are not deleted with them. */
const RETENTION_MS = 90 * 24 * 60 * 60 * 1000;
/** Rows of one statement. */
const ROWS = 10_000;

export async function findTask(
  ctx: Context,
  deployment_id: string,
  task_id: string,
): Promise<TaskRow | null> {
  const [row] = await ctx.db
    .select()
    .from(a2a_tasks)
    .where(
      and(
        eq(a2a_tasks.deployment_id, deployment_id),
        eq(a2a_tasks.task_id, task_id),
        inWorkspace(ctx, a2a_tasks),
      ),
    );
  return row ?? null;
}

/** Updates the run of an existing task. */
export async function saveTask(
  ctx: Context,
  row: Omit<TaskRow, "workspace_id" | "created_at">,
): Promise<void> {
  const { workspace_id } = ctx.caller;
  await ctx.db
    .insert(a2a_tasks)
    .values({ ...row, workspace_id, created_at: new Date().toISOString() })
    .onConflictDoUpdate({
      target: [a2a_tasks.deployment_id, a2a_tasks.task_id],
      set: { run_id: row.run_id },
      setWhere: eq(a2a_tasks.workspace_id, workspace_id),
    });
}

export async function deleteTask(
  ctx: Context,
  { deployment_id, task_id }: Pick<TaskRow, "deployment_id" | "task_id">,
): Promise<void> {
  const isIts = and(eq(a2a_tasks.deployment_id, deployment_id), eq(a2a_tasks.task_id, task_id));
  await ctx.db.delete(a2a_tasks).where(and(isIts, inWorkspace(ctx, a2a_tasks)));
}

/** @returns whether all tasks of the deployment are deleted */
export function deleteTasksOf(env: Env, deployment_id: string): Promise<boolean> {
  const isIts = eq(a2a_tasks.deployment_id, deployment_id);
  return deleteSome(database(env), a2a_tasks, isIts, ROWS);
}

export async function sweepTasks(env: Env, now: Date): Promise<void> {
  const until = new Date(now.getTime() - RETENTION_MS).toISOString();
  await deleteSome(database(env), a2a_tasks, lt(a2a_tasks.created_at, until), ROWS);
}
