import { AppError } from "../../shared/errors.ts";
import { log } from "../../shared/log.ts";
import { startHeartbeat } from "../../shared/work/heartbeat.ts";
import { LeaseLost } from "../../shared/work/lease.ts";
import { HEARTBEAT_MS, LEASE_MS } from "../limits.ts";
import { sendFiles } from "../messages.ts";
import type { FileRow } from "../table.ts";
import { toFailure } from "./failure.ts";
import { completeFile, failFile, leaseLost, releaseFile, renewLease } from "./file-lease.ts";
import { writeFile } from "./file-writer.ts";
import { secondsUntilAttempt } from "./pauses.ts";
import { holdWriterMemory } from "./writer-memory.ts";

const LOST_TEXT =
  "The attempt ended without an answer: the Worker stopped or had not enough memory. If it repeats, leave out large fields with export_fields.";
/** Delay of another attempt, when this isolate has no memory for the file. Its message may reach another isolate. */
const BUSY_RETRY_S = 2;

/**
 * Writes the file, or records the error and the time of the next attempt. First waits until the isolate has memory for
 * the writer, and releases the file when that takes too long.
 */
export async function attemptFile(env: Env, file: FileRow): Promise<void> {
  const written = { rows_written: 0, bytes_written: 0 };
  const { signal, stop } = startHeartbeat({
    interval_ms: HEARTBEAT_MS,
    lease_ms: LEASE_MS,
    renew: () => renewLease(env, file, written),
    lost: () => leaseLost(file),
  });
  let isAdmitted = false;
  const write = () => {
    isAdmitted = true;
    return writeFile(env, file, { written, signal });
  };
  try {
    await completeFile(env, file, await holdWriterMemory(file, write));
  } catch (error) {
    if (signal.aborted || error instanceof LeaseLost) return;
    if (isAdmitted) await settleFailure(env, file, error);
    else await releaseForOthers(env, file);
  } finally {
    stop();
  }
}

/**
 * Counts an attempt that stopped without a result as a retry: a file that needs too much memory would end the isolate of
 * each attempt.
 */
export async function endLostAttempt(env: Env, file: FileRow): Promise<void> {
  await settleFailure(env, file, new AppError("unavailable", LOST_TEXT));
}

async function releaseForOthers(env: Env, file: FileRow): Promise<void> {
  const next_attempt_at = new Date(Date.now() + BUSY_RETRY_S * 1000);
  if (await releaseFile(env, file, next_attempt_at)) await sendFiles(env, [file.id], BUSY_RETRY_S);
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
