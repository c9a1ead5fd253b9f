import type { AuthAnswer, RunOutcome } from "../../../../isolate/contract.ts";
import { assertMay } from "../../../../shared/auth.ts";
import { changeFeed } from "../../../../shared/changes/change-feed.ts";
import { isDatabaseOutage } from "../../../../shared/database/outage.ts";
import { AppError } from "../../../../shared/errors.ts";
import { allows } from "../../../../shared/filters.ts";
import { log } from "../../../../shared/log.ts";
import { detachRpcResult } from "../../../../shared/rpc.ts";
import { authorize, isFinalRefusal, principalContext } from "../../../access/service.ts";
import { agentTokens } from "../../callbacks.ts";
import type { StoredRun } from "../../contract/stored-run.ts";
import { failedOutcome } from "../storage/outcomes.ts";
import type { RunAttempt } from "./attempt.ts";

/**
 * Maximum age of a run that starts without a second check. This age and that of cached callers add up to less than 10
 * seconds, the time within which a revocation takes effect.
 */
const FRESH_MS = 1000;
/** Maximum age of a run that starts unchecked while D1 does not answer. */
const MAX_OUTAGE_MS = 5 * 60 * 1000;
/** Pauses after checks without a result, as when D1 or the agent's own auth is unavailable. The last pause repeats. */
const RETRY_MS = [1000, 5000, 15_000, 60_000];

type ThreadMetadata = { metadata: Record<string, unknown> };

/**
 * Checks that the principal of a run may still start it, when the run was delayed, queued or retried. Repeats a check
 * without a result until the attempt is cancelled.
 * @returns the outcome of a run whose principal is refused, `null` for a run that may start or is cancelled
 */
export async function refusalOfPrincipal(
  env: Env,
  attempt: RunAttempt,
  thread: ThreadMetadata,
): Promise<RunOutcome | null> {
  const { run } = attempt;
  if (ageOf(run) < FRESH_MS) return null;
  let isCancelled = false;
  for (let tries = 0; !isCancelled; tries++) {
    const refusal = await checkPrincipal(env, run, thread);
    if (refusal !== "unknown") return refusal;
    const pause = RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] ?? 0;
    isCancelled = await Promise.race([attempt.cancelled.then(() => true), sleep(pause)]);
  }
  return null;
}

async function checkPrincipal(
  env: Env,
  run: StoredRun,
  thread: ThreadMetadata,
): Promise<RunOutcome | "unknown" | null> {
  try {
    await assertMayStart(env, run, thread);
    return null;
  } catch (error) {
    const failure = AppError.from(error);
    if (isFinalRefusal(failure)) {
      const why = `The principal of the run can no longer start runs: ${failure.message}`;
      return failedOutcome("AuthorizationError", why);
    }
    if (isDatabaseOutage(error) && mayStartUnchecked(run)) return null;
    log.warn("principal_not_checked", { run_id: run.run_id, error: String(error) });
    return "unknown";
  }
}

/**
 * Whether a new request of the principal would be accepted, too: this isolate has seen no revocation since the run was
 * accepted.
 */
function mayStartUnchecked(run: StoredRun): boolean {
  const age_ms = ageOf(run);
  const { organization_id } = run.created_by.caller;
  return (
    age_ms < MAX_OUTAGE_MS && !changeFeed.mayHaveChangedSince(organization_id, Date.now() - age_ms)
  );
}

async function assertMayStart(env: Env, run: StoredRun, { metadata }: ThreadMetadata) {
  const ctx = await principalContext(env, run.revision.deployment_id, run.created_by);
  assertMay(ctx, "write");
  const { filters } = await authorize(ctx, {
    resource: "threads",
    action: "create_run",
    value: toValue(run),
  });
  if (!allows(filters, metadata)) {
    throw new AppError("forbidden", "The agent's auth does not allow the user to read the thread.");
  }
}

function toValue({
  thread_id,
  run_id,
  assistant_id,
  metadata,
  multitask_strategy,
  kwargs,
}: StoredRun) {
  const { input, command, config, context, stream_mode, webhook } = kwargs;
  return {
    ...{ thread_id, run_id, assistant_id, metadata, multitask_strategy, status: "pending" },
    prevent_insert_if_inflight: false,
    if_not_exists: "reject",
    after_seconds: 0,
    kwargs: { input, command, config, context, stream_mode, webhook },
  };
}

/**
 * Returns milliseconds since the run was accepted. A run of an earlier version has no such time: its id begins with
 * one.
 */
function ageOf({ run_id, accepted_at }: StoredRun): number {
  const accepted_ms = accepted_at || Number.parseInt(run_id.replaceAll("-", "").slice(0, 12), 16);
  const age_ms = Date.now() - accepted_ms;
  // The clock of another machine may be ahead: a time of the future proves nothing.
  return age_ms < 0 ? Number.POSITIVE_INFINITY : age_ms;
}

function sleep(ms: number): Promise<false> {
  return new Promise((resolve) => setTimeout(() => resolve(false), ms));
}

/** Answers a request of the agent for an OAuth token. The user is that of the run: the agent cannot choose another. */
export function authenticateRun(run: StoredRun, body: string): Promise<AuthAnswer> {
  const { created_by, assistant_id, graph_id, kwargs } = run;
  const { user_id } = kwargs.config.configurable ?? {};
  const tokens = agentTokens({
    caller: created_by.caller,
    origin: created_by.origin,
    user_id: typeof user_id === "string" ? user_id : null,
    agent_ids: [assistant_id, graph_id],
  });
  return detachRpcResult(tokens.authenticate(body));
}
