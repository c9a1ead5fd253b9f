import { log } from "../../shared/log.ts";
import { startHeartbeat } from "../../shared/work/heartbeat.ts";
import { LeaseLost } from "../../shared/work/lease.ts";
import { HEARTBEAT_MS, LEASE_MS } from "../limits.ts";
import { sendFiles } from "../messages.ts";
import type { FileRow } from "../table.ts";
import { toFailure } from "./failure.ts";
import { completeFile, failFile, leaseLost, renewLease } from "./file-lease.ts";
import { writeFile } from "./file-writer.ts";
import { secondsUntilAttempt } from "./pauses.ts";

/** Writes the file, or records the error and the time of the next attempt. */
export async function attemptFile(env: Env, file: FileRow): Promise<void> {
  const written = { rows_written: 0, bytes_written: 0 };
  const { signal, stop } = startHeartbeat({
    interval_ms: HEARTBEAT_MS,
    lease_ms: LEASE_MS,
    renew: () => renewLease(env, file, written),
    lost: () => leaseLost(file),
  });
  try {
    await completeFile(env, file, await writeFile(env, file, { written, signal }));
  } catch (error) {
    if (signal.aborted || error instanceof LeaseLost) return;
    await settleFailure(env, file, error);
  } finally {
    stop();
  }
}

async function settleFailure(env: Env, file: FileRow, error: unknown): Promise<void> {
  const { text, is_transient, retry_after_seconds } = toFailure(error);
  const { id, retry_number, retry_limit } = file;
  const isLast = !is_transient || retry_number >= retry_limit;
  const seconds = secondsUntilAttempt({ retry_number, retry_after_seconds }, Math.random());
  const next_attempt_at = isLast ? null : new Date(Date.now() + seconds * 1000).toISOString();
  const isOurs = await failFile(env, file, { text, next_attempt_at });
  if (!isOurs) return;
  log.error("export_file_failed", error, { file_id: id, retry_number });
  if (!isLast) await sendFiles(env, [id], seconds);
}
