import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { inWorkspace } from "../../shared/storage/sql.ts";
import { clearProjectCache, isOwnProject } from "../catalogue/projects.ts";
import { defaultTier, retentionDays } from "../catalogue/retention.ts";
import { projects, ttl_settings } from "../catalogue/table.ts";
import type { TtlSettings, TtlSettingsChange } from "./ttl-settings-schema.ts";

/** Time of the settings of a workspace whose tier no admin has set. */
const UNSET_TIME = new Date(0).toISOString();

export async function listTtlSettings(ctx: Context): Promise<TtlSettings[]> {
  assertMay(ctx, "read");
  const [row] = await ctx.db.select().from(ttl_settings).where(inWorkspace(ctx, ttl_settings));
  return [toSettings(ctx, row)];
}

export async function setTtlSettings(
  ctx: Context,
  { tenant_id, default_trace_tier, apply_to_all_projects }: TtlSettingsChange,
): Promise<TtlSettings> {
  assertMay(ctx, "admin");
  const { workspace_id } = ctx.caller;
  if (tenant_id && tenant_id !== workspace_id) {
    const text = `tenant_id: the key belongs to the workspace ${workspace_id}. Leave tenant_id out, or use a key of the other workspace.`;
    throw new AppError("forbidden", text);
  }
  const updated_at = new Date().toISOString();
  const values = { default_trace_tier, apply_to_all_projects, updated_at };
  const upsert = ctx.db
    .insert(ttl_settings)
    .values({ workspace_id, created_at: updated_at, ...values })
    .onConflictDoUpdate({ target: ttl_settings.workspace_id, set: values })
    .returning();
  const [[row]] = await (apply_to_all_projects
    ? ctx.db.batch([
        upsert,
        ctx.db
          .update(projects)
          .set({ trace_tier: default_trace_tier, updated_at })
          .where(isOwnProject(ctx)),
      ])
    : ctx.db.batch([upsert]));
  clearProjectCache();
  return toSettings(ctx, row);
}

function toSettings(ctx: Context, row?: typeof ttl_settings.$inferSelect): TtlSettings {
  const { workspace_id, organization_id } = ctx.caller;
  const { shortlived, longlived } = retentionDays(ctx.env);
  const days = { shortlived_days: shortlived, longlived_days: longlived };
  const base = { id: workspace_id, tenant_id: workspace_id, organization_id, ...days };
  if (row) {
    const { workspace_id: _, ...settings } = row;
    return { ...base, ...settings, configured_by: "user" };
  }
  const default_trace_tier = defaultTier(ctx.env);
  const since = { created_at: UNSET_TIME, updated_at: UNSET_TIME };
  return {
    ...base,
    default_trace_tier,
    apply_to_all_projects: false,
    configured_by: "system",
    ...since,
  };
}
