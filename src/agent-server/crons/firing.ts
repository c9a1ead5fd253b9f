import { v7 } from "uuid";
import { appendAgentLog } from "../../control-plane/deployments/logs/log-service.ts";
import type { Context } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { log } from "../../shared/log.ts";
import { isFinalRefusal, openAgent, principalContext } from "../access/service.ts";
import { createRun } from "../threads/api/runs/run-service.ts";
import { getThread } from "../threads/api/threads/service.ts";
import { RunCreate } from "../threads/contract/requests/run-schema.ts";
import { RIGHTS_MAX_AGE_MS } from "./limits.ts";
import type { CronRow, FiringOutcome, FiringResult } from "./records.ts";

/**
 * Starts the run of a firing as the cron's principal, which may have lost its rights since the cron was changed last.
 * The run's id is derived from the firing and is its idempotency key.
 */
export async function fire(env: Env, cron: CronRow, at: number): Promise<FiringResult> {
  const { deployment_id, thread_id } = cron;
  const fields = { cron_id: cron.cron_id, deployment_id, at: new Date(at).toISOString() };
  try {
    const ctx = await principalContext(env, deployment_id, cron.principal, RIGHTS_MAX_AGE_MS);
    const run_id = await firingId(cron, at);
    const target = { deployment_id, thread_id, headers: {}, origin: cron.principal.origin, run_id };
    const run = await unlessEnded(ctx, cron, () => createRun(ctx, target, toInput(cron)));
    if (run !== null)
      return { outcome: "started", run_id, thread_id: run.thread_id, message: null };
    log.info("cron_ended", { ...fields, reason: "its thread or its deployment was deleted" });
    return notStarted("ended", null);
  } catch (error) {
    const failure = AppError.from(error);
    const { code, message } = failure;
    if (isFinalRefusal(failure)) {
      log.warn("cron_disabled", { ...fields, code, message });
      await logRefusal(env, cron, at, message);
      return notStarted("refused", message);
    }
    const isFinal = FINAL.includes(code);
    log.warn(isFinal ? "cron_firing_skipped" : "cron_firing_delayed", { ...fields, code, message });
    return notStarted(isFinal ? "skipped" : "retry", message);
  }
}

export function notStarted(outcome: FiringOutcome, message: string | null): FiringResult {
  return { outcome, run_id: null, thread_id: null, message };
}

/** The key deduplicates the line when a firing is retried. */
async function logRefusal(env: Env, { cron_id, deployment_id }: CronRow, at: number, why: string) {
  const message = `Cron ${cron_id} was disabled, because its principal can no longer start runs: ${why} To enable it, update it with another API key.`;
  const line = { level: "ERROR", message, key: `cron_disabled ${cron_id} ${at}` } as const;
  await appendAgentLog(env, deployment_id, line).catch((error: unknown) =>
    log.error("agent_log_not_written", error, { cron_id, deployment_id }),
  );
}

/** Errors that a retry would not change. */
const FINAL: string[] = [
  ...["not_found", "conflict", "invalid_request", "bad_request", "forbidden", "quota_exceeded"],
];

function readTarget(ctx: Context, { deployment_id, thread_id }: CronRow): Promise<unknown> {
  if (thread_id === null) return openAgent(ctx, deployment_id, "write");
  return getThread(ctx, deployment_id, thread_id);
}

/** Reads the target after a failure alone. @returns `null` when the thread or the deployment is gone */
async function unlessEnded<T>(
  ctx: Context,
  cron: CronRow,
  start: () => Promise<T>,
): Promise<T | null> {
  try {
    return await start();
  } catch (error) {
    const failure = AppError.from(error);
    // A missing assistant or graph ends no cron.
    if (failure.code !== "not_found" || (await targetExists(ctx, cron))) throw failure;
    return null;
  }
}

async function targetExists(ctx: Context, cron: CronRow): Promise<boolean> {
  try {
    await readTarget(ctx, cron);
    return true;
  } catch (error) {
    const failure = AppError.from(error);
    if (failure.code === "not_found") return false;
    throw failure;
  }
}

export function toInput({ payload, metadata, cron_id, assistant_id, on_run_completed }: CronRow) {
  const { data, error } = RunCreate.safeParse({
    ...payload,
    assistant_id,
    metadata: { ...metadata, cron_id },
    on_completion: on_run_completed,
    if_not_exists: "reject",
  });
  if (data) return data;
  throw new AppError("invalid_request", `The cron's payload: ${error.message}`);
}

/** Derives a UUIDv7 from the firing. */
export async function firingId({ cron_id }: Pick<CronRow, "cron_id">, at: number): Promise<string> {
  const bytes = new TextEncoder().encode(`${cron_id} ${at}`);
  const random = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).slice(0, 16);
  return v7({ msecs: at, random, seq: new DataView(random.buffer).getUint32(0) >>> 1 });
}
