import { and, desc, eq, gte, isNull, lt } from "drizzle-orm";
import type { z } from "zod";
import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { inWorkspace } from "../../shared/storage/sql.ts";
import { DeliveriesList, type DeliveriesQuery, Delivery, type DeliveryStatus } from "./schema.ts";
import { EXPORT_START, exportId, run_webhooks } from "./table.ts";

const STATUSES: DeliveryStatus[] = ["pending", "delivered", "failed"];

/**
 * Lists the deliveries of runs or of traces by id, the newest first: ids begin with their time. The deliveries of one
 * kind and status are one range of the index, so that a page reads few rows.
 */
export async function listWebhookDeliveries(
  ctx: Context,
  { limit, cursor, status, kind }: DeliveriesQuery,
): Promise<DeliveriesList> {
  assertMay(ctx, "read");
  const pages = (status === undefined ? STATUSES : [status]).map((each) =>
    ctx.db
      .select()
      .from(run_webhooks)
      .where(
        and(
          inWorkspace(ctx, run_webhooks),
          eq(run_webhooks.status, each),
          isNull(run_webhooks.alert_id),
          (kind === "run" ? lt : gte)(run_webhooks.run_id, EXPORT_START),
          cursor === undefined ? undefined : lt(run_webhooks.run_id, idOf(cursor, kind)),
        ),
      )
      .orderBy(desc(run_webhooks.run_id))
      .limit(limit + 1),
  );
  const rows = (await Promise.all(pages))
    .flat()
    .sort((one, other) => (one.run_id < other.run_id ? 1 : -1));
  const shown = rows.slice(0, limit);
  return DeliveriesList.parse({
    resources: shown.map((row) => ({ ...toDelivery(row), deployment_id: row.deployment_id })),
    next_cursor: rows.length > limit ? runOf(shown.at(-1)) : null,
  });
}

function idOf(run_id: string, kind: DeliveriesQuery["kind"]): string {
  return kind === "run" ? run_id : exportId(run_id);
}

function runOf(row: Row | undefined): string | null {
  return row === undefined ? null : (row.trace_id ?? row.run_id);
}

const ALERT_DELIVERIES = 20;

/** Returns the last deliveries of an alert, newest first. */
export async function listDeliveriesOf(
  { db, caller }: Context,
  alert_id: string,
): Promise<z.infer<typeof Delivery>[]> {
  const rows = await db
    .select()
    .from(run_webhooks)
    .where(and(eq(run_webhooks.deployment_id, alert_id), inWorkspace({ caller }, run_webhooks)))
    .orderBy(desc(run_webhooks.run_id))
    .limit(ALERT_DELIVERIES);
  return rows.map(toDelivery);
}

type Row = typeof run_webhooks.$inferSelect;

export function toDelivery(row: Row): z.infer<typeof Delivery> {
  const next_attempt_at = row.status === "pending" ? row.due_at : null;
  return Delivery.parse({ ...row, run_id: runOf(row), attempts: attemptsOf(row), next_attempt_at });
}

/** Returns the attempts. Removes the error of one under way, which was stored for the case that its process ends. */
function attemptsOf({ attempts, lease_expires_at }: Row): Row["attempts"] {
  const last = attempts.at(-1);
  const isUnderWay = lease_expires_at !== null && Date.parse(lease_expires_at) > Date.now();
  return last && isUnderWay ? attempts.with(-1, { ...last, error: null }) : attempts;
}
