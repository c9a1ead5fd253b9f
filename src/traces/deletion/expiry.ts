import { and, eq, gte, isNotNull, isNull, lt, lte, not, or, type SQL, sql } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { log } from "../../shared/log.ts";
import { dayBefore } from "../../shared/times.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import { EMPTY_PARTITION, isPartition } from "../catalogue/catalogue.ts";
import { type ExpiryDays, expiryDays } from "../catalogue/retention.ts";
import { partitions } from "../catalogue/table.ts";
import type { PartitionKey } from "../changes.ts";
import { deleteHomes } from "../locations/locations.ts";
import { sendTraceExpiries, type TraceExpiryMessage } from "../messages.ts";
import { SLOT_CACHE_MS } from "../object/slots.ts";
import { tracePartition } from "../object/stub.ts";
import type { ExpiringTraces } from "../reads/tiers.ts";

type PartitionRow = typeof partitions.$inferSelect;

/** Returns the condition on partitions that must not expire yet: an export reads them. */
export type InUse = (
  partition: Pick<typeof partitions, "workspace_id" | "project_id" | "day">,
  now: Date,
) => SQL;

/** Maximum number of partitions for which one sweep sends messages. */
const BATCH = 100;
/** Time until a message is sent again. Longer than an isolate may still write to a closed slot. */
const RESEND_AFTER_MS = 2 * SLOT_CACHE_MS;
/** Maximum number of deleting calls of a step. Each deletes up to 10,000 runs, or all runs when all of them expire. */
const CALLS = 10;
/** Maximum number of other partitions that a step reads, with up to two calls each. Bounds its subrequests. */
const MAX_PARTITIONS = 400;
const AT_ONCE = 8;

/** Sends messages for up to `BATCH` partitions that may have expired traces. Takes one statement. */
export async function sweepExpiredTraces(env: Env, now: Date, isInUse: InUse): Promise<void> {
  const before = new Date(now.getTime() - RESEND_AFTER_MS).toISOString();
  const isWaiting = or(isNull(partitions.expiry_sent_at), lte(partitions.expiry_sent_at, before));
  const due = database(env)
    .select({ id: sql`rowid` })
    .from(partitions)
    .where(and(isDue(expiryDays(env, now)), isWaiting, not(isInUse(partitions, now))))
    .limit(BATCH);
  const { project_id, day, slot } = partitions;
  const rows = await database(env)
    .update(partitions)
    .set({ expiry_sent_at: now.toISOString() })
    .where(sql`rowid in ${due}`)
    .returning({ project_id, day, slot });
  await sendTraceExpiries(env, rows);
}

function isDue({ shortlived, longlived }: ExpiryDays) {
  const { day, expired_seq, project_id } = partitions;
  const isHeld = sql`exists (
    select 1 from projects where projects.id = ${project_id} and projects.held_since is not null
  )`;
  return and(or(lt(day, longlived), and(lt(day, shortlived), isNull(expired_seq))), not(isHeld));
}

/**
 * Deletes expired traces of a partition in one bounded step. Closes a partition that has neither runs nor feedback. A
 * later step deletes it, when no isolate writes to it any more.
 */
export async function consumeTraceExpiry(
  env: Env,
  { project_id, day, slot }: Omit<TraceExpiryMessage, "type">,
  isInUse: InUse,
  now = new Date(),
): Promise<void> {
  const partition = { project_id, day, slot };
  const days = expiryDays(env, now);
  const [row] = await database(env)
    .select()
    .from(partitions)
    .where(and(isPartition(partition), isDue(days), not(isInUse(partitions, now))));
  if (!row) return;
  const tier = day < days.longlived ? "all" : "shortlived";
  const object = tracePartition(env, partition);
  const keep =
    tier === "all" ? [] : await findKept(env, partition, await object.listExpiring(tier));
  let expired = await object.expireTraces(partition, { tier, keep });
  let { runs } = expired;
  for (let call = 1; call < CALLS && expired.runs > 0 && !expired.is_empty; call++) {
    expired = await object.expireTraces(partition, { tier, keep });
    runs += expired.runs;
  }
  if (runs > 0) log.info("traces_expired", { ...partition, runs });
  if (expired.is_empty) return closePartition(env, row, { ...expired, now });
  if (expired.runs > 0) return sendTraceExpiries(env, [partition]);
  const { seq } = expired;
  // Clears `closed_at`: a late run may have arrived in a closed partition.
  await database(env)
    .update(partitions)
    .set({ expired_seq: seq, closed_at: null })
    .where(and(isPartition(partition), lte(partitions.seq, seq)));
}

/** Closes an empty partition. Deletes it when it has been closed for `RESEND_AFTER_MS` and has no leftovers. */
async function closePartition(
  env: Env,
  { workspace_id, project_id, day, slot, closed_at }: PartitionRow,
  { has_leftovers, now }: { has_leftovers: boolean; now: Date },
): Promise<void> {
  const partition = { project_id, day, slot };
  if (closed_at === null) {
    await database(env)
      .update(partitions)
      .set({ ...EMPTY_PARTITION, closed_at: now.toISOString() })
      .where(isPartition(partition));
    return;
  }
  const isSettled = Date.parse(closed_at) <= now.getTime() - RESEND_AFTER_MS;
  if (has_leftovers || !isSettled) return;
  if (await isLastSlot(env, partition)) await deleteHomes(env, workspace_id, { project_id, day });
  await tracePartition(env, partition).deleteAll(partition);
  await database(env)
    .delete(partitions)
    .where(and(isPartition(partition), isNotNull(partitions.closed_at)));
}

async function isLastSlot(env: Env, { project_id, day, slot }: PartitionKey): Promise<boolean> {
  const areItsDay = and(eq(partitions.project_id, project_id), eq(partitions.day, day));
  const others = await database(env)
    .select({ slot: partitions.slot })
    .from(partitions)
    .where(and(areItsDay, sql`${partitions.slot} <> ${slot}`))
    .limit(1);
  return others.length === 0;
}

/**
 * Returns the expiring traces that have longer-lived runs in other partitions. Reads no day earlier than the one before
 * the earliest root: the clock of a child may be behind. Looks for all of these traces in other partitions of the same day. Looks
 * in those of other days for the ones that are `far` here: that began on another day, or may have. Those to which a trace of
 * this day may extend return all traces that are far there.
 */
async function findKept(
  env: Env,
  partition: PartitionKey,
  { trace_ids, far }: ExpiringTraces,
): Promise<string[]> {
  if (trace_ids.length === 0) return [];
  const { project_id, day } = partition;
  const before = dayBefore(day);
  const expiring = new Set(trace_ids);
  const root_days = [...new Set(far.flatMap(({ root_day }) => root_day ?? []))];
  const others = await listOthers(env, partition, root_days);
  const kept = await mapConcurrent(others, AT_ONCE, async (other) => {
    const isNear = other.day === before || day === dayBefore(other.day);
    // Whether `other` may have runs of a trace in `far`, by the day of the trace's root.
    const mayHaveFar = (root_day: string | null) => {
      if (root_day === null) return isNear;
      return other.day < day ? root_day < day : root_day === other.day;
    };
    const named = far.flatMap(({ root_day, trace_id }) => (mayHaveFar(root_day) ? trace_id : []));
    const ids = other.day === day ? trace_ids : named;
    const object = tracePartition(env, { project_id, ...other });
    // Whether `other` may have runs of traces that began on `day`, which `far` does not name.
    const mayHaveOurs = other.day > day || other.day === before;
    const found = mayHaveOurs ? await object.findLonglived(null) : [];
    const kept_ids = found.filter((id) => expiring.has(id));
    return ids.length === 0 ? kept_ids : [...kept_ids, ...(await object.findLonglived(ids))];
  });
  return [...new Set(kept.flat())];
}

/**
 * Lists other partitions of the project. Those at most a day away and those of roots' days come first, because most
 * traces have runs on two days at most. The others follow by distance: a wrong clock may be years behind.
 */
function listOthers(env: Env, { project_id, day, slot }: PartitionKey, root_days: string[]) {
  const [first = day] = [day, ...root_days].map(dayBefore).toSorted();
  const distance = sql`abs(julianday(${partitions.day}) - julianday(${day}))`;
  const named = sql`select value from json_each(${JSON.stringify(root_days)})`;
  return database(env)
    .select({ day: partitions.day, slot: partitions.slot })
    .from(partitions)
    .where(
      and(
        eq(partitions.project_id, project_id),
        gte(partitions.day, first),
        sql`(${partitions.day}, ${partitions.slot}) <> (${day}, ${slot})`,
      ),
    )
    .orderBy(
      sql`${distance} > 1 and ${partitions.day} not in (${named})`,
      distance,
      partitions.slot,
    )
    .limit(MAX_PARTITIONS);
}
