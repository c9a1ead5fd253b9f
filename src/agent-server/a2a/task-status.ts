import type { Context } from "../../shared/context.ts";
import { nullIfNotFound } from "../../shared/errors.ts";
import { isRecord } from "../../shared/guards.ts";
import { RpcError } from "../../shared/http/json-rpc.ts";
import { getRun, listRuns } from "../threads/api/runs/run-service.ts";
import { getHistory } from "../threads/api/state/state-service.ts";
import { getThread } from "../threads/api/threads/service.ts";
import { A2A_ERRORS } from "./schema.ts";
import type { TaskSnapshot } from "./task.ts";
import { findTask, type TaskRow } from "./task-rows.ts";

export async function openTask(
  ctx: Context,
  deployment_id: string,
  task_id: string,
): Promise<TaskRow> {
  return (await findTask(ctx, deployment_id, task_id)) ?? taskNotFound(task_id);
}

/**
 * Reads the current run of a task. When it does not exist, reads the run before it or else the first one.
 * @throws RpcError when none of them exists
 */
export async function readTask(ctx: Context, row: TaskRow): Promise<TaskSnapshot> {
  const { run_id, former_run_id, task_id } = row;
  for (const id of new Set([run_id, former_run_id ?? task_id, task_id])) {
    const task = await nullIfNotFound(readRun(ctx, row, id));
    if (task) return task;
  }
  return taskNotFound(row.task_id);
}

async function readRun(ctx: Context, row: TaskRow, run_id: string): Promise<TaskSnapshot> {
  const { deployment_id, task_id, thread_id } = row;
  const threadRef = { deployment_id, thread_id };
  // The thread is read after the run, so it has the state of an ended run. The newest run is read last: when it is
  // still this one, the state of the thread is not that of a later run.
  const run = await getRun(ctx, { ...threadRef, run_id });
  const thread = await getThread(ctx, deployment_id, thread_id);
  const [newest] = await listRuns(ctx, threadRef, { limit: 1, offset: 0 });
  const { status, updated_at, error } = run;
  const task = { task_id, thread_id, run_id, status, updated_at, error };
  if (newest?.run_id !== run_id) {
    const { values = {}, next = [] } = await stateAfter(ctx, threadRef, run_id);
    return { ...task, values, is_abandoned: next.length > 0, interrupts: [] };
  }
  return {
    ...task,
    values: thread.values,
    is_waiting: thread.status === "interrupted",
    interrupts: Object.values(thread.interrupts).flat().map(toInterrupt),
  };
}

function toInterrupt(interrupt: unknown): TaskSnapshot["interrupts"][number] {
  return isRecord(interrupt) ? interrupt : { value: interrupt };
}

/** Returns the state after the last step of a run that is not the newest. */
async function stateAfter(
  ctx: Context,
  threadRef: { deployment_id: string; thread_id: string },
  run_id: string,
): Promise<{ values?: unknown; next?: string[] }> {
  const text = await getHistory(ctx, threadRef, {
    ns: "",
    checkpoint_id: null,
    limit: 1,
    before_id: null,
    metadata: { run_id },
    select: ["values", "next"],
  });
  const [state] = JSON.parse(text) as { values?: unknown; next?: string[] }[];
  return state ?? {};
}

function taskNotFound(task_id: string): never {
  throw new RpcError(A2A_ERRORS.task_not_found, `Task not found: ${task_id}`);
}
