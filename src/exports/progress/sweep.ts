import { sql } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { resealRows } from "../../shared/crypto/rotation.ts";
import { isInTurn } from "../../shared/storage/sql.ts";
import { ownerOf } from "../destinations/service.ts";
import { RESEND_AFTER_MS } from "../limits.ts";
import { sendExports, sendFiles } from "../messages.ts";
import {
  bulk_export_destinations,
  bulk_export_files,
  bulk_exports,
  type DestinationRow,
} from "../table.ts";

// Limits of one run of the cron job.
const EXPORTS = 50;
const FILES = 100;

/**
 * Sends exports again whose message or worker was lost, and those that wait, time out or need clean-up, in turns of the
 * workspaces.
 */
export async function sweepExports(env: Env, now: Date): Promise<void> {
  const at = now.toISOString();
  const rows = await database(env)
    .update(bulk_exports)
    .set({ sent_at: at })
    .where(
      isInTurn(bulk_exports, {
        where: sql`(status in ('CREATED', 'RUNNING') or (cleaned_at is null and finished_at is not null))
          and status <> 'INTERVAL_SCHEDULED' and sent_at <= ${resendCutoff(now)}
          and (next_attempt_at is null or next_attempt_at <= ${at})`,
        by: bulk_exports.sent_at,
        limit: EXPORTS,
      }),
    )
    .returning({ id: bulk_exports.id });
  await sendExports(
    env,
    rows.map(({ id }) => id),
  );
}

/** Sends files again with a lost message, a due attempt or an expired lease, in turns of the workspaces. */
export async function sweepFiles(env: Env, now: Date): Promise<void> {
  const at = now.toISOString();
  const rows = await database(env)
    .update(bulk_export_files)
    .set({ sent_at: at })
    .where(
      isInTurn(bulk_export_files, {
        where: sql`status in ('WAITING', 'RUNNING') and sent_at <= ${resendCutoff(now)}
          and (lease_expires_at is null or lease_expires_at <= ${at})
          and (next_attempt_at is null or next_attempt_at <= ${at})
          and exists (select 1 from ${bulk_exports} e where e.id = bulk_export_id and e.status = 'RUNNING')`,
        by: bulk_export_files.sent_at,
        limit: FILES,
      }),
    )
    .returning({ id: bulk_export_files.id });
  await sendFiles(
    env,
    rows.map(({ id }) => id),
  );
}

/** Encrypts credentials again after a rotation of keys. */
export function resealDestinations(env: Env): Promise<void> {
  return resealRows<DestinationRow>(env, bulk_export_destinations, ({ id }) => ownerOf(id));
}

/** Returns the newest time of a message that may be sent again. */
function resendCutoff(now: Date): string {
  return new Date(now.getTime() - RESEND_AFTER_MS).toISOString();
}
