import { Buffer } from "node:buffer";
import { and, eq, sql } from "drizzle-orm";
import { database } from "../../../shared/context.ts";
import { observe } from "../../../shared/metrics/metrics.ts";
import { LeaseLost, leaseUntil } from "../../../shared/work/lease.ts";
import type { SourceCommit } from "../../builds/contract.ts";
import { forgetActive } from "../active.ts";
import { notifyStreams } from "../logs/agent-log.ts";
import { build_logs } from "../logs/table.ts";
import { BUILD_STATUSES, INTERRUPTED, type StartedStep, statusesBefore } from "../revisions.ts";
import type { RevisionStatus } from "../schema.ts";
import { inStatus } from "../sql.ts";
import { deployments, revisions } from "../table.ts";
import { cutText, lastError, type NewLogLine, toLogRow, withSteps } from "./build-progress.ts";

/** Writes by the consumer of a build. Each one names the attempt, the fencing token: older attempts change nothing. */

export type RevisionBuild = typeof revisions.$inferSelect & {
  source_config: (typeof deployments.$inferSelect)["source_config"];
  secrets_version: number;
};
type BuiltFields = Partial<
  Pick<
    typeof revisions.$inferInsert,
    | "artifact_key"
    | "artifact_bytes"
    | "repo_commit_sha"
    | "config"
    | "config_env"
    | "graphs"
    | "descriptors"
    | "status_reason"
    | "status_message"
  >
>;

type ReportedProgress = { steps: readonly StartedStep[] } & Partial<SourceCommit>;

/** More than three heartbeats of 4 s. After this time, another attempt may claim a build whose Worker ended. */
export const LEASE_MS = 15_000;

/** @returns `false` when this attempt is not the current one, or the build has ended */
export async function renewLease(env: Env, build: RevisionBuild, now: Date): Promise<boolean> {
  const rows = await renewal(env, build, now);
  return rows.length > 0;
}

/** Clears the lease, so that the next attempt starts at once. The attempt does not count as lost. */
export async function releaseLease(env: Env, build: RevisionBuild): Promise<void> {
  await database(env).update(revisions).set({ lease_expires_at: null }).where(isCurrent(build));
}

/** Expires the lease now, so that the attempt counts as lost: its isolate ended before it answered. */
export async function loseLease(env: Env, build: RevisionBuild, now: Date): Promise<void> {
  await database(env)
    .update(revisions)
    .set({ lease_expires_at: now.toISOString() })
    .where(isCurrent(build));
}

/**
 * Appends log lines and progress, and renews the lease.
 * @throws LeaseLost when this attempt is not the current one, or the build has ended
 */
export async function appendLog(
  env: Env,
  build: RevisionBuild,
  lines: readonly NewLogLine[],
  now: Date,
  progress: ReportedProgress = { steps: [] },
): Promise<void> {
  const db = database(env);
  const [, renewed] = await db.batch([
    // The columns of the table in their order; SQLite gives the id.
    db.insert(build_logs).select(sql`
      select null, revisions.workspace_id, revisions.id, line.value ->> 'level',
        line.value ->> 'message', line.value ->> 'timestamp'
      from revisions, json_each(${JSON.stringify(lines.map(toLogRow))}) as line
      where ${isCurrent(build)}
      order by line.key
    `),
    renewal(env, build, now, progress, logBytesOf(lines)),
  ]);
  if (renewed.length === 0) throw leaseLost(build);
  await notifyStreams(env, build.deployment_id);
}

/** Stores the builder's results while the revision stays BUILDING: the load check reads the artifact from the row. */
export function recordArtifact(env: Env, build: RevisionBuild, fields: BuiltFields): Promise<void> {
  return advanceBuild(env, build, "BUILDING", fields, "load");
}

/** Sets the status of the revision. @throws LeaseLost when this attempt is not the current one, or the build is over */
export async function advanceBuild(
  env: Env,
  build: RevisionBuild,
  status: RevisionStatus,
  fields: BuiltFields = {},
  step: StartedStep["name"] | null = null,
): Promise<void> {
  const updated_at = new Date().toISOString();
  const isOver = !BUILD_STATUSES.includes(status);
  const rows = await database(env)
    .update(revisions)
    .set({
      ...fields,
      ...(fields.status_message && { status_message: cutText(fields.status_message) }),
      status,
      updated_at,
      ...(step && { steps: withSteps([{ name: step, started_at: updated_at }]) }),
      ...(isOver && { lease_expires_at: null, error_log_id: lastError }),
    })
    .where(and(isCurrent(build), before(status)))
    .returning({ id: revisions.id });
  if (rows.length === 0) throw leaseLost(build);
  if (isOver) observeBuild(build, "failed");
  await notifyStreams(env, build.deployment_id);
}

/**
 * Sets DEPLOYED. Activates the revision and ends a split, unless it is a preview or a newer revision is active.
 * @throws LeaseLost when this attempt is not the current one, or the build has ended
 */
export async function activateBuild(env: Env, build: RevisionBuild): Promise<void> {
  const db = database(env);
  const updated_at = new Date().toISOString();
  const [rows] = await db.batch([
    db
      .update(revisions)
      .set({ status: "DEPLOYED", lease_expires_at: null, updated_at })
      .where(and(isCurrent(build), before("DEPLOYED")))
      .returning({ id: revisions.id }),
    db
      .update(deployments)
      .set({ active_revision_id: build.id, traffic: null, updated_at })
      .where(
        and(
          eq(deployments.id, build.deployment_id),
          eq(deployments.status, "READY"),
          sql`exists (
            select 1 from revisions where id = ${build.id}
            and attempt = ${build.attempt} and status = 'DEPLOYED' and not is_preview
          )`,
          sql`not exists (
            select 1 from revisions
            where id = ${deployments.active_revision_id} and number > ${build.number}
          )`,
        ),
      ),
  ]);
  forgetActive(build.deployment_id);
  if (rows.length === 0) throw leaseLost(build);
  observeBuild(build, "deployed");
  await notifyStreams(env, build.deployment_id);
}

/** Returns whether the revision will never use an artifact: it is deleted or interrupted. */
export async function isAbandoned(env: Env, build: RevisionBuild): Promise<boolean> {
  const [row] = await database(env)
    .select({ status: revisions.status, reason: revisions.status_reason })
    .from(revisions)
    .where(eq(revisions.id, build.id));
  return row === undefined || row.status === "INTERRUPTED" || row.reason === INTERRUPTED;
}

/** Adds the duration of a build to the metrics. Only the caller that ended the build calls this. */
export function observeBuild(
  { created_at }: { created_at: string },
  outcome: "deployed" | "failed",
): void {
  const seconds = (Date.now() - Date.parse(created_at)) / 1000;
  observe("heddle_build_duration_seconds", { outcome }, Math.max(0, seconds));
}

function renewal(
  env: Env,
  build: RevisionBuild,
  now: Date,
  { steps, ...commit }: ReportedProgress = { steps: [] },
  log_bytes = 0,
) {
  return database(env)
    .update(revisions)
    .set({
      lease_expires_at: leaseUntil(now, LEASE_MS),
      ...(steps.length > 0 && { steps: withSteps(steps) }),
      ...commit,
      ...(commit.repo_commit_sha !== undefined && { is_commit_fetched: true }),
      ...(log_bytes > 0 && { log_bytes: sql`${revisions.log_bytes} + ${log_bytes}` }),
    })
    .where(isCurrent(build))
    .returning({ id: revisions.id });
}

function logBytesOf(lines: readonly NewLogLine[]): number {
  return lines.reduce((sum, { message }) => sum + Buffer.byteLength(message), 0);
}

function isCurrent(build: Pick<RevisionBuild, "id" | "attempt">) {
  return and(
    eq(revisions.id, build.id),
    eq(revisions.attempt, build.attempt),
    inStatus(revisions.status, BUILD_STATUSES),
  );
}

export function before(status: RevisionStatus) {
  return inStatus(revisions.status, statusesBefore(status));
}

export function leaseLost({ id, attempt }: RevisionBuild): LeaseLost {
  return new LeaseLost(`revision ${id}`, attempt);
}
