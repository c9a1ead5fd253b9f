import { METERS, PERIODS, periodProblem } from "../src/control-plane/quotas/quota-schema.ts";
import { quote } from "./workspace-sql.ts";

type Named = { org: string; name: string };
export type QuotaOrder = Named & {
  meter: (typeof METERS)[number];
  period: (typeof PERIODS)[number];
  /** `null` removes the quota. */
  limit: number | null;
};

export { METERS, PERIODS, periodProblem };

export function listQuotas(named: Named): string {
  return `SELECT meter, period, "limit", set_by, updated_at FROM quotas WHERE workspace_id = ${workspaceOf(named)} ORDER BY meter, period, set_by;`;
}

/** The last statement selects the workspace and its quota: no row means that the workspace does not exist. */
export function setQuota({ meter, period, limit, ...named }: QuotaOrder): string {
  const now = quote(new Date().toISOString());
  const key = `meter = ${quote(meter)} AND period = ${quote(period)} AND set_by = 'operator'`;
  const change =
    limit === null
      ? `DELETE FROM quotas WHERE workspace_id = ${workspaceOf(named)} AND ${key};`
      : `INSERT INTO quotas (workspace_id, meter, period, set_by, "limit", updated_at) SELECT id, ${quote(meter)}, ${quote(period)}, 'operator', ${limit}, ${now} FROM workspaces WHERE id = ${workspaceOf(named)} ON CONFLICT (workspace_id, meter, period, set_by) DO UPDATE SET "limit" = excluded."limit", updated_at = excluded.updated_at;`;
  const result = `SELECT workspaces.id AS workspace_id, ${quote(meter)} AS meter, ${quote(period)} AS period, "limit" FROM workspaces LEFT JOIN quotas ON quotas.workspace_id = workspaces.id AND ${key} WHERE workspaces.id = ${workspaceOf(named)};`;
  return `${change}\n${result}`;
}

function workspaceOf({ org, name }: Named): string {
  return `(SELECT workspaces.id FROM workspaces JOIN organizations ON organizations.id = workspaces.organization_id WHERE organizations.name = ${quote(org)} AND workspaces.name = ${quote(name)})`;
}
