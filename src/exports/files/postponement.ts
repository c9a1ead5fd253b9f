import { eq, sql } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { log } from "../../shared/log.ts";
import { bulk_exports, type ExportRow } from "../table.ts";
import { pauseAfter } from "./pauses.ts";

type Obstacle = {
  event: string;
  error: unknown;
  /** Error that an active export shows. An ended export keeps the error with which it ended. */
  text: string;
  /** Time since the earliest moment at which the obstacle can have begun. */
  elapsed_ms: number;
  retry_after_seconds: number | null;
};

/** Leaves the export to the sweep, which resumes it after a pause. The pause grows while the obstacle lasts. */
export async function backOff(
  env: Env,
  { id }: ExportRow,
  { event, error, text, elapsed_ms, retry_after_seconds }: Obstacle,
): Promise<void> {
  const pause_ms = pauseAfter(elapsed_ms, retry_after_seconds);
  log.error(event, error, { bulk_export_id: id, pause_ms });
  const next_attempt_at = new Date(Date.now() + pause_ms).toISOString();
  const shown = sql`iif(${bulk_exports.status} in ('CREATED', 'RUNNING'), ${text}, ${bulk_exports.error})`;
  await database(env)
    .update(bulk_exports)
    .set({ next_attempt_at, error: shown })
    .where(eq(bulk_exports.id, id));
}
