import { findWorkspace } from "../control-plane/workspaces/service.ts";
import { assertMay } from "../shared/auth.ts";
import { type Context, contextFor, database } from "../shared/context.ts";
import { assertPaidPlan } from "../shared/plans.ts";

/**
 * Allows reads for every role, and the rest for administrators. After a downgrade of the plan an organization can
 * still read and `end` exports, and cannot `start` any.
 */
export function assertMayExport(
  { caller }: Pick<Context, "caller">,
  action: "read" | "start" | "end",
): void {
  if (action === "start") assertPaidPlan(caller, "Bulk export");
  assertMay({ caller }, action === "read" ? "read" : "admin");
}

/** Returns the context of queue and cron jobs, `null` when the workspace is deleted. */
export async function systemContext(env: Env, workspace_id: string): Promise<Context | null> {
  const found = await findWorkspace(database(env), workspace_id);
  if (found === null) return null;
  const actor = { type: "system", job: "bulk_export" } as const;
  return contextFor(env, { ...found, workspace_id, role: "admin", actor });
}
