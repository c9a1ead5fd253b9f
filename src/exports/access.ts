import { findWorkspace } from "../control-plane/workspaces/service.ts";
import { assertMay } from "../shared/auth.ts";
import { type Context, contextFor, database } from "../shared/context.ts";
import { AppError } from "../shared/errors.ts";

/** Allows reads for every role and changes for administrators, on the plans Plus and Enterprise. */
export function assertMayExport(ctx: Pick<Context, "caller">, action: "read" | "manage"): void {
  assertPlan(ctx.caller.plan);
  assertMay(ctx, action === "read" ? "read" : "admin");
}

function assertPlan(plan: Context["caller"]["plan"]): void {
  if (plan !== "developer") return;
  const text =
    "Bulk export requires the plan Plus or Enterprise. This organization's plan is Developer.";
  throw new AppError("forbidden", text);
}

/** Returns the context of queue and cron jobs, `null` when the workspace is deleted. */
export async function systemContext(env: Env, workspace_id: string): Promise<Context | null> {
  const found = await findWorkspace(database(env), workspace_id);
  if (found === null) return null;
  const actor = { type: "system", job: "bulk_export" } as const;
  return contextFor(env, { ...found, workspace_id, role: "admin", actor });
}
