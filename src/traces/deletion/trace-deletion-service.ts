import { and, eq, gte } from "drizzle-orm";
import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { sha256Hex } from "../../shared/crypto/crypto.ts";
import { invalid } from "../../shared/errors.ts";
import { DAY_US, dayOf, nowMicros, toMicros } from "../../shared/times.ts";
import { chunks, mapConcurrent } from "../../shared/work/chunks.ts";
import { dayOfId, livePartitions } from "../catalogue/catalogue.ts";
import { assertNotHeld, resolveProject } from "../catalogue/projects.ts";
import { partitions } from "../catalogue/table.ts";
import type { PartitionKey } from "../changes.ts";
import { deleteLinksOfTraces } from "../links/share-links.ts";
import { mayHave } from "../locations/generations.ts";
import { findLocations } from "../locations/locations.ts";
import { tracePartition } from "../object/stub.ts";
import { assertTraceRate } from "../rates.ts";
import { MAX_FOUND, type MetadataPair } from "../reads/reads.ts";
import type { DeletedTraces, DeleteTracesRequest } from "./trace-deletion-schema.ts";

/** Limit of Workers: 10,000 subrequests. A partition takes at least three: find traces, delete them, find none left. */
const MAX_PARTITIONS = 3000;
/** Maximum number of rows of the catalogue that are read. A busy day has many, of which few may have the traces. */
const MAX_ROWS = 30_000;
const AT_ONCE = 25;
/** Maximum number of ids in one call: each call under way has its own copy in memory. */
const SENT_IDS = 5000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Deletes runs, feedback and share links of the traces before it returns. Alarms of the partitions delete the rest
 * (objects in R2, locations, feedback tokens) and update the counts in the catalogue.
 */
export async function deleteTraces(
  ctx: Context,
  input: DeleteTracesRequest,
): Promise<DeletedTraces> {
  assertMay(ctx, "delete");
  assertTraceRate(ctx, "read");
  const project_id = input.session_id ? await resolveProject(ctx, input.session_id) : null;
  const named = [...(input.trace_ids ?? []), ...(input.run_ids ?? [])];
  let runs = 0;
  if (project_id !== null && named.length > 0) {
    await assertNotHeld(ctx, [project_id]);
    const keys = await partitionsOf(ctx, project_id, await firstDay(ctx, named), named);
    runs += await deleteFrom(ctx, keys, named);
  }
  const pairs = toPairs(input.metadata ?? {});
  if (pairs.length > 0) runs += await deleteByMetadata(ctx, project_id, pairs);
  ctx.audited = auditedOf(project_id, [...new Set(named)], pairs, runs);
  return { message: `${runs} runs deleted.` };
}

/** Returns the entries of the audit log. Values of metadata may be names of people: only UUIDs are kept as they are. */
function auditedOf(
  project_id: string | null,
  traces: string[],
  pairs: MetadataPair[],
  runs: number,
) {
  return [
    { name: "deleted_runs", id: String(runs) },
    ...(project_id === null ? [] : [{ name: "session_id", id: project_id }]),
    ...pairs.map(([key, value]) => ({
      name: `metadata.${key}`,
      id: UUID.test(value) ? value : `sha256:${sha256Hex(value)}`,
    })),
    ...traces.map((id) => ({ name: "trace_id", id })),
  ];
}

async function deleteByMetadata(
  ctx: Context,
  project_id: string | null,
  pairs: MetadataPair[],
): Promise<number> {
  const keys = await partitionsOf(ctx, project_id, "", null);
  let runs = 0;
  for (;;) {
    const deleted = await deleteFound(ctx, keys, pairs);
    runs += deleted.runs;
    if (deleted.isWhole || deleted.runs === 0) return runs;
  }
}

/** Deletes the traces that one read of each partition finds. */
async function deleteFound(
  ctx: Context,
  keys: PartitionKey[],
  pairs: MetadataPair[],
): Promise<{ runs: number; isWhole: boolean }> {
  const found = new Map<string, Set<string>>();
  let isWhole = true;
  await mapConcurrent(keys, AT_ONCE, async (partition) => {
    const ids = await tracePartition(ctx.env, partition).findTraces(pairs);
    isWhole &&= ids.length < MAX_FOUND;
    const known = found.get(partition.project_id) ?? new Set();
    for (const id of ids) known.add(id);
    found.set(partition.project_id, known);
  });
  const named = [...found].flatMap(([id, traces]) => (traces.size > 0 ? [id] : []));
  await assertNotHeld(ctx, named);
  let runs = 0;
  for (const [id, traces] of found) {
    if (traces.size === 0) continue;
    const here = keys.filter((partition) => partition.project_id === id);
    for (const ids of chunks([...traces], SENT_IDS)) runs += await deleteFrom(ctx, here, ids);
  }
  return { runs, isWhole };
}

/** Deletes traces from all partitions of `keys`: a trace can have runs on several days. Returns the number of runs. */
async function deleteFrom(
  ctx: Context,
  keys: PartitionKey[],
  trace_ids: string[],
): Promise<number> {
  let runs = 0;
  const project_ids = keys.map(({ project_id }) => project_id);
  const { workspace_id } = ctx.caller;
  await deleteLinksOfTraces(ctx.env, workspace_id, { project_ids, trace_ids });
  await mapConcurrent(keys, AT_ONCE, async (partition) => {
    for (;;) {
      const n = await tracePartition(ctx.env, partition).deleteTraces(partition, trace_ids);
      runs += n;
      if (n === 0) return;
    }
  });
  return runs;
}

/**
 * Returns the first day of the partitions to read, `""` for all of them. It is the day before the earliest root, because
 * the clock of a child may be behind.
 */
async function firstDay(ctx: Context, trace_ids: string[]): Promise<string> {
  const located = await findLocations(ctx, trace_ids);
  const days = trace_ids.flatMap(
    (id) => located.get(id)?.homes.map(({ day }) => day) ?? [pastDayOf(id)],
  );
  const midnight = toMicros(`${days.toSorted()[0]}T00:00:00Z`);
  return midnight === null ? "" : dayOf(midnight - DAY_US);
}

/** Returns the day in an id, `""` for none or one after tomorrow: a random id can look like one with a time. */
function pastDayOf(id: string): string {
  const day = dayOfId(id) ?? "";
  return day <= dayOf(nowMicros() + DAY_US) ? day : "";
}

/** @param trace_ids traces of which the partitions may have runs, `null` for all partitions */
async function partitionsOf(
  ctx: Context,
  project_id: string | null,
  first_day: string,
  trace_ids: string[] | null,
): Promise<PartitionKey[]> {
  const ofProject = project_id === null ? undefined : eq(partitions.project_id, project_id);
  const isLate = and(ofProject, gte(partitions.day, first_day));
  const rows = await livePartitions(ctx, isLate).limit(MAX_ROWS);
  const keys = rows.filter(({ slot }) => trace_ids?.some((id) => mayHave(slot, id)) ?? true);
  if (rows.length < MAX_ROWS && keys.length <= MAX_PARTITIONS) return keys;
  const text = `the runs may be in more than ${MAX_PARTITIONS} partitions; name one project, or fewer traces by id`;
  throw invalid(["body", "session_id"], text);
}

function toPairs(metadata: Record<string, string[]>): MetadataPair[] {
  return Object.entries(metadata).flatMap(([key, values]) =>
    values.map((value): MetadataPair => [key, value]),
  );
}
