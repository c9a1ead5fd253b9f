import type { Actor, Caller, Role } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";

/**
 * A workspace that a credential reaches. `workspace_id`, `workspace_name` and `role` are `null` when a valid credential
 * reaches none.
 */
export type Reach = {
  /** Differs between organizations: a person is a separate user in each. */
  actor: Actor;
  organization_id: string;
  plan: Caller["plan"];
  workspace_id: string | null;
  workspace_name: string | null;
  role: Role | null;
};

export type Credential = {
  /** The actor of the first reach. */
  actor: Actor;
  is_organization_wide: boolean;
  /** ISO time; `null` when it does not expire. */
  expires_at: string | null;
  reaches: Reach[];
};

const SPECIFY =
  "requires workspace specification: send the id of a workspace in the X-Tenant-Id header.";

/**
 * Selects the workspace of a request. With a `tenant`, `reaches` contains no other workspace.
 * @throws AppError `forbidden` for none, for several, and for an organization-wide key without a `tenant`
 */
export function chooseWorkspace(credential: Credential, tenant: string | null): Caller {
  const reached = credential.reaches.flatMap(
    ({ organization_id, plan, workspace_id, role, actor }) =>
      workspace_id === null || role === null
        ? []
        : [{ organization_id, plan, workspace_id, role, actor }],
  );
  if (tenant === null && credential.is_organization_wide) {
    const text = `This organization-wide API key ${SPECIFY}`;
    throw new AppError("forbidden", text, { label: "org_scoped_key_requires_workspace" });
  }
  const [first, second] = reached;
  if (first === undefined) throw unreached(tenant);
  if (second !== undefined) {
    throw new AppError("forbidden", `The caller is a member of several workspaces and ${SPECIFY}`);
  }
  return first;
}

/** Returns whether the credential reaches any workspace. */
export function reachesWorkspace({ reaches }: Credential): boolean {
  return reaches.some(({ workspace_id }) => workspace_id !== null);
}

function unreached(tenant: string | null): AppError {
  if (tenant === null) {
    const text = "The caller is not a member of any workspace: an admin must add it to one.";
    return new AppError("forbidden", text);
  }
  const text = `The caller has no access to workspace ${tenant}, which the X-Tenant-Id header names.`;
  return new AppError("forbidden", text);
}
