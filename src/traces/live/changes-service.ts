import { and, eq } from "drizzle-orm";
import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { DAY_US, dayOf, nowMicros } from "../../shared/times.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import { areLive } from "../catalogue/catalogue.ts";
import { resolveProject } from "../catalogue/projects.ts";
import { partitions, projects } from "../catalogue/table.ts";
import type { PartitionKey } from "../changes.ts";
import { smallColumns, withLargeColumns } from "../object/large-columns.ts";
import { tracePartition } from "../object/stub.ts";
import { type QueryPlan, toPlan, toQuery } from "../query/query-plan.ts";
import { toPageRuns } from "../query/query-service.ts";
import { toItem, toSelect } from "../query/query-v2.ts";
import { assertReadRate } from "../rates.ts";
import { type ChangedRun, type ChangePosition, positionOf } from "../reads/changed-runs.ts";
import type { ChangedRuns } from "../reads/run-pages.ts";
import { RunChanges, type RunChangesRequest } from "./changes-schema.ts";
import { type ChangesCursor, readChangesCursor, writeChangesCursor } from "./cursors.ts";

const PAGE_SIZE = 100;
const AT_ONCE = 25;
/** An hour: more than the skew of clocks between objects and the delay of the catalogue. */
const SETTLED_US = 3_600_000_000;

type ReadPartition = { partition: PartitionKey; after: ChangePosition; read: ChangedRuns };
type FoundChange = { partition: PartitionKey; row: ChangedRun; read: ChangedRuns };

/** Returns runs of a project that are new or changed since a cursor, each with its latest state. */
export async function listRunChanges(ctx: Context, input: RunChangesRequest): Promise<RunChanges> {
  assertMay(ctx, "read");
  assertReadRate(ctx, "query_week");
  const { project_id } = input;
  await resolveProject(ctx, project_id);
  const plan = toChangesPlan(input);
  const settled = nowMicros() - SETTLED_US;
  const since = input.cursor ? readChangesCursor(input.cursor, project_id) : null;
  const base = since?.base ?? settled;
  const keys = await changedPartitions(ctx, project_id, base, since);
  const reads = await mapConcurrent(keys, AT_ONCE, async (partition) => {
    const after = since?.positions[keyOf(partition)] ?? { seq: base, row: null };
    return { partition, after, read: await readChanges(ctx, partition, plan, since && after) };
  });
  const found = reads.flatMap(({ partition, read }) =>
    read.runs.map((row) => ({ partition, row, read })),
  );
  const chosen = found.sort(byChange).slice(0, plan.limit);
  const { page } = await withLargeColumns(ctx.env, chosen, plan.columns);
  const has_more = found.length > page.length || reads.some(({ read }) => read.has_more);
  const positions = Object.fromEntries(
    reads.map((read) => [keyOf(read.partition), nextOf(read, page)]),
  );
  const next_cursor = writeChangesCursor(
    dropOldPositions({ project_id, base, positions }, has_more ? base : settled),
  );
  const runs = await toPageRuns(ctx, page, toSelect(input.selects ?? ["ID"]), next_cursor);
  return RunChanges.parse({ items: runs.map(toItem), has_more, next_cursor });
}

function toChangesPlan({
  filter,
  is_root,
  run_type,
  has_error,
  ...input
}: RunChangesRequest): QueryPlan {
  const limit = input.page_size ?? PAGE_SIZE;
  const select = toSelect(input.selects ?? ["ID"]);
  return toPlan({ filter, is_root, run_type, error: has_error, limit, select });
}

function readChanges(
  ctx: Context,
  partition: PartitionKey,
  plan: QueryPlan,
  after: ChangePosition | null,
): Promise<ChangedRuns> {
  const outline = { ...plan, columns: smallColumns(plan.columns) };
  const query = toQuery(outline, partition, { trace: [], tree: [] });
  return tracePartition(ctx.env, partition).findChanged(query, after);
}

/**
 * Returns partitions that may have changed after the cursor: those of yesterday and later, those whose last change in
 * the catalogue is after `base`, and those with a position in the cursor.
 */
async function changedPartitions(
  ctx: Context,
  project_id: string,
  base: number,
  since: ChangesCursor | null,
): Promise<PartitionKey[]> {
  const yesterday = dayOf(nowMicros() - DAY_US);
  const rows = await ctx.db
    .select({ day: partitions.day, slot: partitions.slot, seq: partitions.seq })
    .from(partitions)
    .innerJoin(projects, eq(projects.id, partitions.project_id))
    .where(and(areLive(ctx), eq(partitions.project_id, project_id)));
  return rows
    .map(({ day, slot, seq }) => ({ project_id, day, slot, seq }))
    .filter(
      (row) => row.day >= yesterday || isRecent(row.seq, base) || since?.positions[keyOf(row)],
    )
    .map(({ day, slot }) => ({ project_id, day, slot }));
}

/** The catalogue has 0 until it knows the first change of a partition. */
function isRecent(seq: number, base: number): boolean {
  return seq === 0 || seq > base;
}

/** Returns the position behind the last run of a partition that is on the page. */
function nextOf({ partition, after, read }: ReadPartition, page: FoundChange[]): ChangePosition {
  const ours = page.filter((one) => one.partition === partition);
  if (ours.length === read.runs.length) return read.next;
  const last = ours.at(-1);
  return last === undefined ? after : positionOf(last.row);
}

/**
 * Drops positions that are not after the new base. Later changes have a greater sequence, which is a time.
 */
function dropOldPositions({ positions, ...cursor }: ChangesCursor, base: number): ChangesCursor {
  const kept = Object.entries(positions).filter(([, { seq }]) => seq > base);
  return { ...cursor, base: Math.max(cursor.base, base), positions: Object.fromEntries(kept) };
}

function byChange(a: FoundChange, b: FoundChange): number {
  return a.row.changed_seq - b.row.changed_seq || a.row.row - b.row.row;
}

function keyOf({ day, slot }: Pick<PartitionKey, "day" | "slot">): string {
  return `${day}/${slot}`;
}
