import { and, type Column, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import { database } from "../shared/context.ts";
import { nowMicros, toIso, toMicros } from "../shared/times.ts";
import { forgetActive } from "./active.ts";
import { BUILD_STATUSES, INTERRUPTED, statusesBefore } from "./revisions.ts";
import type { RevisionStatus } from "./schema.ts";
import { inStatus } from "./sql.ts";
import { build_logs, deployments, revisions } from "./table.ts";

/** What the builder of a revision may do with its rows. Every write names the attempt and thereby fences older ones. */

export type Build = typeof revisions.$inferSelect & {
  source_config: (typeof deployments.$inferSelect)["source_config"];
  secrets_version: number;
};
type LogLine = {
  level: "DEBUG" | "INFO" | "WARNING" | "ERROR";
  message: string;
  timestamp: string;
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

export const MAX_ATTEMPTS = 3;
/** Three missed beats and a bit: a build whose Worker died is taken up again after this long. */
export const LEASE_MS = 15_000;
/** Of a line of the log and of the sentence for people. What agents and bundlers say may be megabytes; a row takes two. */
const MAX_LINE_CHARACTERS = 8000;

/** Another attempt has taken over, or the deployment is gone: nothing more to do or say. */
export class LeaseLost extends Error {
  constructor(build: Pick<Build, "id" | "attempt">) {
    super(`Attempt ${build.attempt} of revision ${build.id} is no longer the current one`);
    this.name = "LeaseLost";
  }
}

/** The revision with a new attempt's lease; null when there is nothing to build, or another attempt lives. */
export async function claimBuild(env: Env, revision_id: string, now: Date): Promise<Build | null> {
  const db = database(env);
  const at = now.toISOString();
  const [, , , claimed] = await db.batch([
    end(env, "INTERRUPTED", at, null).where(
      and(eq(revisions.id, revision_id), before("INTERRUPTED"), sql`not ${isDeploymentReady}`),
    ),
    end(env, "SKIPPED", at, OVERTAKEN).where(
      and(eq(revisions.id, revision_id), before("SKIPPED"), isOvertaken),
    ),
    end(env, "BUILD_FAILED", at, LOST).where(
      and(
        eq(revisions.id, revision_id),
        before("BUILD_FAILED"),
        isFree(at),
        sql`${revisions.attempt} >= ${MAX_ATTEMPTS}`,
      ),
    ),
    db
      .update(revisions)
      .set({
        status: "BUILDING",
        attempt: sql`${revisions.attempt} + 1`,
        lease_expires_at: leaseFrom(now),
        updated_at: at,
      })
      .where(and(eq(revisions.id, revision_id), before("BUILDING"), isFree(at)))
      .returning({ attempt: revisions.attempt }),
  ]);
  return claimed[0] === undefined ? null : readBuild(env, revision_id, claimed[0].attempt);
}

/** False once this attempt is no longer the current one. */
export async function renewLease(env: Env, build: Build, now: Date): Promise<boolean> {
  const rows = await renewal(env, build, now);
  return rows.length > 0;
}

/** The next attempt need not wait for the lease to expire. */
export async function releaseLease(env: Env, build: Build): Promise<void> {
  await database(env).update(revisions).set({ lease_expires_at: null }).where(isCurrent(build));
}

export async function appendLog(
  env: Env,
  build: Build,
  lines: readonly LogLine[],
  now: Date,
): Promise<void> {
  const db = database(env);
  const [, renewed] = await db.batch([
    // The columns of the table in their order; SQLite gives the id.
    db.insert(build_logs).select(sql`
      select null, revisions.workspace_id, revisions.id, line.value ->> 'level',
        line.value ->> 'message', line.value ->> 'timestamp'
      from revisions, json_each(${JSON.stringify(lines.map(toRow))}) as line
      where ${isCurrent(build)}
      order by line.key
    `),
    renewal(env, build, now),
  ]);
  if (renewed.length === 0) throw new LeaseLost(build);
}

/** Writes what the builder found without leaving BUILDING: the load check reads the artifact from the row. */
export function recordArtifact(env: Env, build: Build, fields: BuiltFields): Promise<void> {
  return advanceBuild(env, build, "BUILDING", fields);
}

export async function advanceBuild(
  env: Env,
  build: Build,
  status: RevisionStatus,
  fields: BuiltFields = {},
): Promise<void> {
  const isOver = !BUILD_STATUSES.includes(status);
  const rows = await database(env)
    .update(revisions)
    .set({
      ...fields,
      ...(fields.status_message && { status_message: cutText(fields.status_message) }),
      status,
      updated_at: new Date().toISOString(),
      ...(isOver && { lease_expires_at: null }),
    })
    .where(and(isCurrent(build), before(status)))
    .returning({ id: revisions.id });
  if (rows.length === 0) throw new LeaseLost(build);
}

/** DEPLOYED, and, unless it is a preview, active where no newer revision is already: alone, whatever split there was. */
export async function activateBuild(env: Env, build: Build): Promise<void> {
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
  if (rows.length === 0) throw new LeaseLost(build);
}

/** True when no attempt will ever want what this one has stored. */
export async function isAbandoned(env: Env, build: Build): Promise<boolean> {
  const [row] = await database(env)
    .select({ status: revisions.status, reason: revisions.status_reason })
    .from(revisions)
    .where(eq(revisions.id, build.id));
  return row === undefined || row.status === "INTERRUPTED" || row.reason === INTERRUPTED;
}

/** Times in one form, so that their text compares as they do. */
function toRow({ level, message, timestamp }: LogLine): LogLine {
  return { level, message: cutText(message), timestamp: toIso(toMicros(timestamp) ?? nowMicros()) };
}

function cutText(text: string): string {
  return text.slice(0, MAX_LINE_CHARACTERS);
}

const OVERTAKEN = {
  status_reason: "overtaken",
  status_message: "A newer revision was made before this one began to build.",
};
const LOST = {
  status_reason: "internal",
  status_message: `The build ended without a word ${MAX_ATTEMPTS} times. Make a new revision to try again.`,
};

const isDeploymentReady = sql`exists (
  select 1 from deployments
  where deployments.id = ${revisions.deployment_id} and deployments.status = 'READY'
)`;
/** A preview is overtaken by a newer one of its own branch; what is to be active by whatever comes after it. */
const isOvertaken = sql`exists (
  select 1 from revisions as newer
  where newer.deployment_id = ${revisions.deployment_id} and newer.number > ${revisions.number}
    and newer.is_preview = ${revisions.is_preview}
    and (not newer.is_preview or ${refOf(sql`newer.source_revision_config`)} = ${refOf(revisions.source_revision_config)})
)`;

function refOf(config: SQL | Column): SQL {
  return sql`${config} ->> 'repo_ref'`;
}

function end(env: Env, status: RevisionStatus, at: string, why: typeof LOST | null) {
  return database(env)
    .update(revisions)
    .set({ status, lease_expires_at: null, updated_at: at, ...why });
}

function renewal(env: Env, build: Build, now: Date) {
  return database(env)
    .update(revisions)
    .set({ lease_expires_at: leaseFrom(now) })
    .where(isCurrent(build))
    .returning({ id: revisions.id });
}

async function readBuild(env: Env, revision_id: string, attempt: number): Promise<Build | null> {
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

function isCurrent(build: Pick<Build, "id" | "attempt">) {
  return and(
    eq(revisions.id, build.id),
    eq(revisions.attempt, build.attempt),
    inStatus(revisions.status, BUILD_STATUSES),
  );
}

function before(status: RevisionStatus) {
  return inStatus(revisions.status, statusesBefore(status));
}

function isFree(at: string) {
  return sql`(${revisions.lease_expires_at} is null or ${revisions.lease_expires_at} <= ${at})`;
}

function leaseFrom(now: Date): string {
  return new Date(now.getTime() + LEASE_MS).toISOString();
}
