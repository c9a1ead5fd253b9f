import { v7 } from "uuid";
import { appendAgentLog } from "../../control-plane/deployments/logs/log-service.ts";
import type { Context } from "../../shared/context.ts";
import { AppError, nullIfNotFound } from "../../shared/errors.ts";
import { log } from "../../shared/log.ts";
import { isFinalRefusal, openAgent, principalContext } from "../access/service.ts";
import { createRun } from "../threads/api/runs/run-service.ts";
import { getThread } from "../threads/api/threads/service.ts";
import { RunCreate } from "../threads/contract/requests/run-schema.ts";
import { threadObject } from "../threads/object/stub.ts";
import { RIGHTS_MAX_AGE_MS } from "./limits.ts";
import type { CronRow, FiringOutcome, FiringResult } from "./records.ts";

/**
 * Starts the run of a firing as the cron's principal, with the rights that the principal has now. The run's id is
 * derived from the firing, so a repeated firing starts no second run. `at`: time of the schedule in epoch milliseconds.
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
      await logFor(env, cron, at, { level: "ERROR", event: "cron_disabled", message });
      return notStarted("refused", message);
    }
    if (!FINAL_CODES.includes(code)) {
      log.warn("cron_firing_delayed", { ...fields, code, message });
      return notStarted("retry", message);
    }
    log.warn("cron_firing_skipped", { ...fields, code, message });
    await logFor(env, cron, at, { level: "WARNING", event: "cron_firing_skipped", message });
    return notStarted("skipped", message);
  }
}

export function notStarted(outcome: FiringOutcome, message: string | null): FiringResult {
  return { outcome, run_id: null, thread_id: null, message };
}

type CronLine = {
  level: "ERROR" | "WARNING";
  event: "cron_disabled" | "cron_firing_skipped";
  message: string;
};

/** Writes a line into the agent's log. The key deduplicates it when a firing is retried. */
async function logFor(
  env: Env,
  { cron_id, deployment_id }: CronRow,
  at: number,
  { level, event, message }: CronLine,
) {
  const text =
    event === "cron_disabled"
      ? `Cron ${cron_id} was disabled, because its principal can no longer start runs: ${message} To enable it, update it as a principal that can.`
      : `Cron ${cron_id} skipped its firing of ${new Date(at).toISOString()}: ${message}`;
  const line = { level, message: text, key: `${event} ${cron_id} ${at}` };
  await appendAgentLog(env, deployment_id, line).catch((error: unknown) =>
    log.error("agent_log_not_written", error, { cron_id, deployment_id }),
  );
}

/**
 * Codes of errors that a retry would not change. The agent's own auth may refuse with any status. A status below 500
 * without a code, such as 418, has the code `forbidden`.
 */
const FINAL_CODES: string[] = [
  ...["not_found", "conflict", "invalid_request", "bad_request", "forbidden", "quota_exceeded"],
];

/**
 * Starts a run. Only after a `not_found` looks for the cron's thread and deployment.
 * @returns `null` when one of these does not exist any more
 * @throws AppError 403 when the thread is hidden from the principal
 */
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
    if (failure.code !== "not_found" || (await isFound(ctx, cron))) throw failure;
    if (await exists(ctx, cron)) throw hiddenThread(failure);
    return null;
  }
}

function hiddenThread(cause: AppError): AppError {
  const text = "The cron's thread is hidden from the cron's principal.";
  return new AppError("forbidden", text, { cause });
}

/** Whether the principal finds the deployment and the thread. */
async function isFound(ctx: Context, { deployment_id, thread_id }: CronRow): Promise<boolean> {
  const read: Promise<unknown> =
    thread_id === null
      ? openAgent(ctx, deployment_id, "write")
      : getThread(ctx, deployment_id, thread_id);
  return (await nullIfNotFound(read)) !== null;
}

async function exists(ctx: Context, { deployment_id, thread_id }: CronRow): Promise<boolean> {
  const agent = await nullIfNotFound(openAgent(ctx, deployment_id, "write"));
  if (agent === null || thread_id === null) return false;
  return (await threadObject(ctx.env, deployment_id, thread_id).getThread()) !== null;
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
