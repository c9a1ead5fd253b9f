import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { notFound } from "../../shared/errors.ts";
import { DAY_US, dayOf, nowMicros, toMicros } from "../../shared/times.ts";
import { findPartitions, partitionsOn } from "../catalogue/catalogue.ts";
import type { PartitionKey } from "../changes.ts";
import { tracePartition } from "../object/stub.ts";
import { assertReadRate } from "../rates.ts";
import type { ReadRuns } from "../reads/run-pages.ts";
import { admitPayloads } from "../rows/payload-admission.ts";
import type { Columns, TraceRunRow } from "../rows/rows.ts";
import { TraceRun } from "./run-schema.ts";
import { RUN_COLUMNS, toRun } from "./to-run.ts";

/** Maximum number of days after the run's own that are searched for runs below it. */
const MAX_DAYS = 7;

export type LocatedRun = ReadRuns & { partition: PartitionKey; row: TraceRunRow };

/** @param select fields whose payloads are read, `null` for all */
export async function getTraceRun(
  ctx: Context,
  run_id: string,
  select: string[] | null = null,
): Promise<TraceRun> {
  assertMay(ctx, "read");
  assertReadRate(ctx, "get_run");
  const { partition, row, ...read } = await findRun(ctx, run_id, RUN_COLUMNS);
  const below = await runsBelow(ctx, partition, row);
  const wanted = select && new Set(select);
  const run = await admitPayloads([row], wanted, () => toRun(ctx, partition, row, read, wanted));
  return TraceRun.parse({
    ...run,
    child_run_ids: below.map(({ id }) => id),
    direct_child_run_ids: below.filter((run) => run.parent_run_id === run_id).map(({ id }) => id),
  });
}

/** Searches the following days too: a run may end after midnight. */
async function runsBelow(ctx: Context, { project_id, day }: PartitionKey, row: TraceRunRow) {
  const keys = (await partitionsOn(ctx, daysOf(day, row)))
    .filter((partition) => partition.project_id === project_id)
    .sort((a, b) => (a.day < b.day ? -1 : 1));
  const found = await Promise.all(
    keys.map((partition) => tracePartition(ctx.env, partition).getRunsBelow(row.trace_id, row.id)),
  );
  return found.flat();
}

/** Returns the days from `day` to that of the run's end, or to today while it is pending, at most `MAX_DAYS` later. */
function daysOf(day: string, { end_us }: TraceRunRow): string[] {
  const last = dayOf(end_us ?? nowMicros());
  const days = [day];
  const midnight = toMicros(`${day}T00:00:00Z`) ?? 0;
  for (let n = 1; n <= MAX_DAYS && (days.at(-1) ?? last) < last; n++) {
    days.push(dayOf(midnight + n * DAY_US));
  }
  return days;
}

export async function findRun(ctx: Context, run_id: string, columns: Columns): Promise<LocatedRun> {
  const located = await findPartitions(ctx, [run_id]);
  const answers = await Promise.all(
    located.map(async ({ partition, ids }) => ({
      partition,
      read: await tracePartition(ctx.env, partition).getRuns(ids, columns),
    })),
  );
  for (const { partition, read } of answers) {
    const [row] = read.runs;
    if (row) return { partition, row, ...read };
  }
  throw notFound("Run", run_id);
}
