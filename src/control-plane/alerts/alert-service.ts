import { asc } from "drizzle-orm";
import { listDeliveriesOf } from "../../agent-server/webhooks/list-service.ts";
import { deleteWebhooksOf } from "../../agent-server/webhooks/sweep.ts";
import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { assertReachable } from "../../shared/egress/egress.ts";
import { AppError, invalid, notFound } from "../../shared/errors.ts";
import { newId } from "../../shared/storage/ids.ts";
import { insertBelow, inWorkspace, ownRow } from "../../shared/storage/sql.ts";
import { assertProject } from "../../traces/projects/service.ts";
import { assertRunFilter } from "../../traces/stats/monitor-service.ts";
import {
  Alert,
  type AlertCreateRequest,
  AlertDeliveries,
  type AlertPatchRequest,
} from "./alert-schema.ts";
import { MAX_ALERTS } from "./limits.ts";
import { alerts } from "./table.ts";

export async function createAlert(ctx: Context, input: AlertCreateRequest): Promise<Alert> {
  assertMay(ctx, "write");
  const { workspace_id } = ctx.caller;
  assertRule(ctx, input);
  if (input.session_id !== null) await assertProject(ctx, input.session_id);
  const now = new Date().toISOString();
  const state = { status: "ok" as const, episode: 0, due_at: now };
  const row = await insertBelow(
    ctx.db,
    alerts,
    { id: newId(), workspace_id, ...input, ...state, created_at: now, updated_at: now },
    { limit: MAX_ALERTS, where: inWorkspace(ctx, alerts) },
  );
  if (row !== undefined) return Alert.parse(row);
  const text = `The workspace has ${MAX_ALERTS} alerts, which is the limit: delete one first.`;
  throw new AppError("conflict", text);
}

export async function listAlerts(ctx: Context): Promise<Alert[]> {
  assertMay(ctx, "read");
  const rows = await ctx.db
    .select()
    .from(alerts)
    .where(inWorkspace(ctx, alerts))
    .orderBy(asc(alerts.id));
  return rows.map((row) => Alert.parse(row));
}

export async function getAlert(ctx: Context, alert_id: string): Promise<Alert> {
  assertMay(ctx, "read");
  const [row] = await ctx.db
    .select()
    .from(alerts)
    .where(ownRow(ctx, alerts, alert_id));
  if (!row) throw notFound("Alert", alert_id);
  return Alert.parse(row);
}

/** Disabling a firing alert leaves its status: the next evaluation ends the episode. */
export async function updateAlert(
  ctx: Context,
  alert_id: string,
  patch: AlertPatchRequest,
): Promise<Alert> {
  assertMay(ctx, "write");
  assertRule(ctx, Alert.parse({ ...(await getAlert(ctx, alert_id)), ...patch }));
  // An alert of a deleted project may still be disabled.
  if (patch.session_id) await assertProject(ctx, patch.session_id);
  const now = new Date().toISOString();
  const [row] = await ctx.db
    .update(alerts)
    .set({ ...patch, due_at: now, updated_at: now })
    .where(ownRow(ctx, alerts, alert_id))
    .returning();
  if (!row) throw notFound("Alert", alert_id);
  return Alert.parse(row);
}

/** Deletes the deliveries first: without the alert no request could find them. */
export async function deleteAlert(ctx: Context, alert_id: string): Promise<void> {
  assertMay(ctx, "write");
  const { id } = await getAlert(ctx, alert_id);
  while (!(await deleteWebhooksOf(ctx.env, id)));
  await ctx.db.delete(alerts).where(ownRow(ctx, alerts, id));
}

export async function listAlertDeliveries(
  ctx: Context,
  alert_id: string,
): Promise<AlertDeliveries["deliveries"]> {
  const { id } = await getAlert(ctx, alert_id);
  const found = await listDeliveriesOf(ctx, id);
  const deliveries = found.map(({ run_id, ...delivery }) => ({ ...delivery, id: run_id }));
  return AlertDeliveries.parse({ deliveries }).deliveries;
}

type Rule = Pick<
  AlertCreateRequest,
  "metric" | "session_id" | "filter" | "feedback_key" | "webhook"
>;

function assertRule(
  ctx: Context,
  { metric, session_id, filter, feedback_key, webhook }: Rule,
): void {
  assertReachable(ctx.env, "webhooks", { webhook });
  const isQuota = metric === "quota_used";
  const needs = (field: keyof Rule, value: string | null, isNeeded: boolean) => {
    if ((value !== null) === isNeeded) return;
    const rule = isNeeded ? "is required with" : "must be null with";
    throw invalid(["body", field], `${rule} the metric ${metric}`);
  };
  needs("session_id", session_id, !isQuota);
  needs("feedback_key", feedback_key, metric === "feedback_score");
  if (isQuota) needs("filter", filter, false);
  if (filter !== null) assertRunFilter(filter);
}
