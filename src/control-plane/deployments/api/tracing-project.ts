import { and, isNull } from "drizzle-orm";
import type { Context } from "../../../shared/context.ts";
import { AppError } from "../../../shared/errors.ts";
import { createProject, deleteProject } from "../../../traces/projects/service.ts";
import { findDeployment, isOurs } from "../rows.ts";
import { deployments } from "../table.ts";

/** The project of the deployment's name: made with the deployment, or here when that was cut short. */
export async function openTracingProject(ctx: Context, deployment_id: string): Promise<string> {
  const { name, tracing_project_id } = await findDeployment(ctx, deployment_id);
  if (tracing_project_id !== null) return tracing_project_id;
  const { id } = await createProject(ctx, { name }, true);
  await ctx.db
    .update(deployments)
    .set({ tracing_project_id: id })
    .where(and(isOurs(ctx, deployment_id), isNull(deployments.tracing_project_id)));
  return id;
}

/** Twice is as good as once. */
export async function deleteTracingProject(ctx: Context, deployment_id: string): Promise<void> {
  const { tracing_project_id } = await findDeployment(ctx, deployment_id);
  if (tracing_project_id === null) return;
  try {
    await deleteProject(ctx, tracing_project_id);
  } catch (error) {
    if (!(error instanceof AppError && error.code === "not_found")) throw error;
  }
}
