import { createWorkspace as create } from "../../../local/create-workspace.ts";
import { uniqueName } from "./deployments.ts";
import { stack } from "./stack.ts";

/** Creates a workspace beside the stack's own. Returns the headers of its admin. */
export async function createWorkspace(name = "main"): Promise<Record<string, string>> {
  const { api_key, tenant_id } = await create(stack.dir, uniqueName("org"), name);
  return { "x-api-key": api_key, "x-tenant-id": tenant_id };
}
