import { findWorkspace } from "../../control-plane/workspaces/service.ts";
import { RecordCache } from "../../shared/changes/record-cache.ts";
import { type AgentUser, type Caller, database } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";

type Owner = Pick<Caller, "organization_id" | "plan">;

const owners = new RecordCache<Owner>({
  max_age_ms: 8000,
  max_outage_ms: 10 * 60 * 1000,
  scopeOf: ({ organization_id }) => organization_id,
});

/** User of Studio with a credential of the workspace. The SDK's `isStudioUser` detects it by `kind`. */
export const STUDIO_USER: AgentUser = {
  kind: "StudioUser",
  identity: "langgraph-studio-user",
  display_name: "langgraph-studio-user",
  is_authenticated: true,
  permissions: [],
};

/** User of public paths. */
export const ANONYMOUS: AgentUser = { identity: "", is_authenticated: false, permissions: [] };

/** Returns the caller for a user of an agent, who acts in its workspace. The agent's code authorizes the user. */
export async function callerOf(
  env: Env,
  { workspace_id, deployment_id }: { workspace_id: string; deployment_id: string },
  { identity }: AgentUser,
): Promise<Caller> {
  const owner = await ownerOf(env, workspace_id);
  const actor = { type: "agent_user", deployment_id, identity } as const;
  return { ...owner, workspace_id, role: "editor", actor };
}

/** Returns the caller for the agent's own code, which calls its server without a user. */
export async function agentCaller(
  env: Env,
  { workspace_id }: { workspace_id: string },
): Promise<Caller> {
  const owner = await ownerOf(env, workspace_id);
  return { ...owner, workspace_id, role: "editor", actor: { type: "system", job: "agent" } };
}

function ownerOf(env: Env, workspace_id: string): Promise<Owner> {
  return owners.get(env, workspace_id, async () => {
    const owner = await findWorkspace(database(env), workspace_id);
    if (owner === null) throw new AppError("not_found", `Workspace ${workspace_id} not found.`);
    return owner;
  });
}
