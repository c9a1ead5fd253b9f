import { and, type Column, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import { database } from "../../../shared/context.ts";
import { isUnleased, leaseUntil } from "../../../shared/work/lease.ts";
import { notifyStreams } from "../logs/agent-log.ts";
import { sendBuilds } from "../queue.ts";
import { BUILD_STATUSES, UNFINISHED } from "../revisions.ts";
import type { RevisionStatus } from "../schema.ts";
import { inStatus } from "../sql.ts";
import { deployments, revisions } from "../table.ts";
import { lastError, stepsOfClaim } from "./build-progress.ts";
import { before, LEASE_MS, observeBuild, type RevisionBuild } from "./build-service.ts";

const OF_STREAM = { deployment_id: revisions.deployment_id };
/** Maximum number of attempts of a build. */
export const MAX_ATTEMPTS = 3;
/** Maximum number of attempts that ended their isolate or process: after the first one, a build is tried once more. */
export const MAX_LOST_ATTEMPTS = 2;
/** Maximum time for which the attempt after a lost one waits for other builds to end: it may end their process too. */
export const QUARANTINE_MS = 60_000;
/** Concurrent builds of a workspace. Others wait for these, so that a slow git host delays only its own workspace. */
export const MAX_BUILDS_AT_ONCE = 2;

/**
 * Claims a revision for a new attempt with a lease. Before that, ends a build whose deployment is being deleted, that a
 * newer revision supersedes, or that has no attempts left. @returns `null` when there is nothing to build, another
 * attempt holds the lease, a lost build waits for others, or the workspace has `MAX_BUILDS_AT_ONCE` builds
 */
export async function claimBuild(
  env: Env,
  revision_id: string,
  now: Date,
): Promise<RevisionBuild | null> {
  const db = database(env);
  const at = now.toISOString();
  const [interrupted, skipped, lost, brokenOff, claimed] = await db.batch([
    end(env, "INTERRUPTED", at, null)
      .where(
        and(eq(revisions.id, revision_id), before("INTERRUPTED"), sql`not ${isDeploymentReady}`),
      )
      .returning(OF_STREAM),
    end(env, "SKIPPED", at, OVERTAKEN)
      .where(and(eq(revisions.id, revision_id), before("SKIPPED"), isOvertaken))
      .returning(OF_STREAM),
    ...endExhausted(env, revision_id, at),
    db
      .update(revisions)
      .set({
        status: "BUILDING",
        attempt: sql`${revisions.attempt} + 1`,
        lost_attempts: lostAttempts,
        lease_expires_at: leaseUntil(now, LEASE_MS),
        steps: stepsOfClaim(at),
        updated_at: at,
      })
      .where(
        and(
          eq(revisions.id, revision_id),
          before("BUILDING"),
          isUnleased(revisions.lease_expires_at, at),
          sql`(${lostAttempts} = 0 or ${isAlone(now)})`,
          hasFreeSlot(at),
        ),
      )
      .returning({ ...OF_STREAM, attempt: revisions.attempt }),
  ]);
  for (const row of [...lost, ...brokenOff]) observeBuild(row, "failed");
  const [changed] = [...interrupted, ...skipped, ...lost, ...brokenOff, ...claimed];
  if (changed) await notifyStreams(env, changed.deployment_id);
  return claimed[0] === undefined ? null : readBuild(env, revision_id, claimed[0].attempt);
}

/**
 * Sends a waiting build of a workspace when an attempt of another one ends, because a claim without a free slot drops
 * its message. Chooses the build whose last message is the oldest.
 */
export async function sendNextBuild(
  env: Env,
  { id, workspace_id }: RevisionBuild,
  now: Date,
): Promise<void> {
  const at = now.toISOString();
  const rows = await database(env)
    .update(revisions)
    .set({ sent_at: at })
    .where(
      sql`${revisions.id} in (
        select id from revisions
        where ${inStatus(revisions.status, UNFINISHED)} and workspace_id = ${workspace_id}
          and id != ${id} and (lease_expires_at is null or lease_expires_at <= ${at})
        order by sent_at limit 1
      )`,
    )
    .returning({ id: revisions.id });
  await sendBuilds(
    env,
    rows.map((row) => row.id),
  );
}

/** Ends a build that has no attempt left. Returns whether it did. */
export async function failExhausted(env: Env, revision_id: string, now: Date): Promise<boolean> {
  const ended = await database(env).batch(endExhausted(env, revision_id, now.toISOString()));
  const [row] = ended.flat();
  if (row) observeBuild(row, "failed");
  if (row) await notifyStreams(env, row.deployment_id);
  return row !== undefined;
}

const OVERTAKEN = {
  status_reason: "overtaken",
  status_message: "Skipped: a newer revision was created before this build started.",
};
const LOST = {
  status_reason: "internal",
  status_message:
    "The build crashed twice. It probably exceeds the memory or time of a build: make the " +
    "source, its dependencies or the bundle smaller, and create a new revision.",
};
const BROKEN_OFF = {
  status_reason: "internal",
  status_message: `The build failed ${MAX_ATTEMPTS} times because of a platform error. Create a new revision to retry.`,
};

/** Counts the last attempt as lost if its lease is still set: an attempt that is not lost clears it at its end. */
const lostAttempts = sql`(${revisions.lost_attempts} + (${revisions.lease_expires_at} is not null))`;

const isDeploymentReady = sql`exists (
  select 1 from deployments
  where deployments.id = ${revisions.deployment_id} and deployments.status = 'READY'
)`;
/** A newer preview of the same branch supersedes a preview. Any newer revision but a preview supersedes the others. */
const isOvertaken = sql`exists (
  select 1 from revisions as newer
  where newer.deployment_id = ${revisions.deployment_id} and newer.number > ${revisions.number}
    and newer.is_preview = ${revisions.is_preview}
    and (not newer.is_preview or ${refOf(sql`newer.source_revision_config`)} = ${refOf(revisions.source_revision_config)})
)`;

function refOf(config: SQL | Column): SQL {
  return sql`${config} ->> 'repo_ref'`;
}

function endExhausted(env: Env, revision_id: string, at: string) {
  const endWhere = (why: typeof LOST, isExhausted: SQL) =>
    end(env, "BUILD_FAILED", at, why)
      .where(
        and(
          eq(revisions.id, revision_id),
          before("BUILD_FAILED"),
          isUnleased(revisions.lease_expires_at, at),
          isExhausted,
        ),
      )
      .returning({ deployment_id: revisions.deployment_id, created_at: revisions.created_at });
  return [
    endWhere(LOST, sql`${lostAttempts} >= ${MAX_LOST_ATTEMPTS}`),
    endWhere(BROKEN_OFF, sql`${revisions.attempt} >= ${MAX_ATTEMPTS}`),
  ] as const;
}

/** Matches when other builds hold no lease, or this one has waited long enough. Until then the sweep sends it again. */
function isAlone(now: Date): SQL {
  const since = new Date(now.getTime() - QUARANTINE_MS).toISOString();
  return sql`(${revisions.lease_expires_at} <= ${since} or not exists (
    select 1 from revisions as other
    where other.id != ${revisions.id} and other.lease_expires_at > ${now.toISOString()}
      and ${isBuilding}
  ))`;
}

const isBuilding = inStatus(sql`other.status`, BUILD_STATUSES);

function hasFreeSlot(at: string): SQL {
  return sql`(
    select count(*) from revisions as other
    where other.workspace_id = ${revisions.workspace_id} and other.id != ${revisions.id}
      and other.lease_expires_at > ${at} and ${isBuilding}
  ) < ${MAX_BUILDS_AT_ONCE}`;
}

function end(env: Env, status: RevisionStatus, at: string, why: typeof LOST | null) {
  return database(env)
    .update(revisions)
    .set({
      status,
      lost_attempts: lostAttempts,
      lease_expires_at: null,
      updated_at: at,
      ...(status === "BUILD_FAILED" && { error_log_id: lastError }),
      ...why,
    });
}

async function readBuild(
  env: Env,
  revision_id: string,
  attempt: number,
): Promise<RevisionBuild | null> {
  const [row] = await database(env)
    .select({
      ...getTableColumns(revisions),
      source_config: deployments.source_config,
      secrets_version: deployments.secrets_version,
    })
    .from(revisions)
    .innerJoin(deployments, eq(deployments.id, revisions.deployment_id))
    .where(and(eq(revisions.id, revision_id), eq(revisions.attempt, attempt)));
  return row ?? null;
}
