import { findWorkspace } from "../control-plane/workspaces/service.ts";
import { type Context, contextFor, database } from "../shared/context.ts";

/** Returns the context of queue and cron jobs, `null` when the workspace is deleted. */
export async function systemContext(env: Env, workspace_id: string): Promise<Context | null> {
  const found = await findWorkspace(database(env), workspace_id);
  if (found === null) return null;
  const actor = { type: "system", job: "bulk_export" } as const;
  return contextFor(env, { ...found, workspace_id, role: "admin", actor });
}
