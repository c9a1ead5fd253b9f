import { and, eq, lt } from "drizzle-orm";
import { type Context, database } from "../../shared/context.ts";
import { deleteSome, inWorkspace } from "../../shared/storage/sql.ts";
import { a2a_tasks } from "./table.ts";

export type TaskRow = typeof a2a_tasks.$inferSelect;

/** Retention of tasks. Their threads and runs are not deleted with them. */
const RETENTION_MS = 90 * 24 * 60 * 60 * 1000;
/** Maximum rows that one call deletes. */
const MAX_DELETED = 10_000;

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

export async function insertTask(ctx: Context, row: TaskRow): Promise<void> {
  await ctx.db.insert(a2a_tasks).values(row);
}

/** Compare-and-set on the run of the task. @returns `false` when another request has changed it, or deleted the task */
export async function replaceRun(ctx: Context, from: TaskRow, to: TaskRow): Promise<boolean> {
  const { run_id, former_run_id } = to;
  const updated = await ctx.db
    .update(a2a_tasks)
    .set({ run_id, former_run_id })
    .where(and(isTask(from), eq(a2a_tasks.run_id, from.run_id), inWorkspace(ctx, a2a_tasks)))
    .returning({ run_id: a2a_tasks.run_id });
  return updated.length > 0;
}

export async function deleteTask(ctx: Context, task: TaskRow): Promise<void> {
  await ctx.db.delete(a2a_tasks).where(and(isTask(task), inWorkspace(ctx, a2a_tasks)));
}

function isTask({ deployment_id, task_id }: TaskRow) {
  return and(eq(a2a_tasks.deployment_id, deployment_id), eq(a2a_tasks.task_id, task_id));
}

/** Deletes some tasks of a deployment. @returns whether none remain */
export function deleteTasksOf(env: Env, deployment_id: string): Promise<boolean> {
  const isOfDeployment = eq(a2a_tasks.deployment_id, deployment_id);
  return deleteSome(database(env), a2a_tasks, isOfDeployment, MAX_DELETED);
}

export async function sweepTasks(env: Env, now: Date): Promise<void> {
  const until = new Date(now.getTime() - RETENTION_MS).toISOString();
  await deleteSome(database(env), a2a_tasks, lt(a2a_tasks.created_at, until), MAX_DELETED);
}
