import { assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { AppError, notFound } from "../../../shared/errors.ts";
import type { DeploymentDeletion } from "../schema.ts";
import { deleteDeployment } from "./service.ts";

/**
 * Deletes several deployments. One that cannot be deleted does not prevent the others.
 * @throws AppError when none of them can be deleted
 */
export async function deleteDeployments(
  ctx: Context,
  deployment_ids: readonly string[],
): Promise<DeploymentDeletion> {
  assertMay(ctx, "delete");
  const answers = await Promise.allSettled(
    deployment_ids.map((id) => deleteDeployment(ctx, id, { delete_tracing_project: false })),
  );
  const deleted = deployment_ids.filter((_, at) => answers[at]?.status === "fulfilled");
  const failures = answers.filter((answer) => answer.status === "rejected");
  const unexpected = failures.find(({ reason }) => AppError.from(reason).code !== "not_found");
  if (deleted.length === 0) {
    throw unexpected?.reason ?? notFound("Deployment", deployment_ids.join(", "));
  }
  const failed = answers.flatMap((answer, at) => {
    const id = deployment_ids[at];
    if (answer.status === "fulfilled" || id === undefined) return [];
    return [{ id, detail: AppError.from(answer.reason).message }];
  });
  return { deleted, failed };
}
