import { assertMay } from "../shared/auth.ts";
import type { Context } from "../shared/context.ts";
import { notFound } from "../shared/errors.ts";
import { candidates } from "./catalogue.ts";
import type { Place, ReadRuns } from "./object.ts";
import { assertRate } from "./rate-limit.ts";
import { TraceRun } from "./run-schema.ts";
import type { Columns } from "./storage/reads.ts";
import type { Pointers, RunRow } from "./storage/rows.ts";
import { tracePartition } from "./stub.ts";
import { RUN_COLUMNS, toRun } from "./to-run.ts";

export type FoundRun = ReadRuns & { place: Place; row: RunRow };

export async function getTraceRun(ctx: Context, run_id: string): Promise<TraceRun> {
  assertMay(ctx, "read");
  assertRate(ctx, "read");
  const { place, row, ...read } = await findRun(ctx, run_id, RUN_COLUMNS);
  const below = await tracePartition(ctx.env, place).getRunsBelow(row.trace_id, run_id);
  return TraceRun.parse({
    ...(await toRun(ctx.env, place, row, read)),
    child_run_ids: below.map(({ id }) => id),
    direct_child_run_ids: below.filter((run) => run.parent_run_id === run_id).map(({ id }) => id),
  });
}

/** The bytes that were attached to a run, in the type they were sent with. */
export async function getAttachment(ctx: Context, run_id: string, name: string) {
  assertMay(ctx, "read");
  assertRate(ctx, "read");
  const { row } = await findRun(ctx, run_id, ["id", "pointers"]);
  const pointers: Pointers = row.pointers ? JSON.parse(row.pointers) : {};
  const attachment = pointers.attachments?.[name];
  const object = attachment ? await ctx.env.ARTIFACTS.get(attachment.key) : null;
  if (!attachment || !object) throw notFound("Attachment", `${run_id}/${name}`);
  return { body: object.body, content_type: attachment.content_type };
}

export async function findRun(ctx: Context, run_id: string, columns: Columns): Promise<FoundRun> {
  const asked = await candidates(ctx, [run_id]);
  const answers = await Promise.all(
    asked.map(async ({ place, ids }) => ({
      place,
      read: await tracePartition(ctx.env, place).getRuns(ids, columns),
    })),
  );
  for (const { place, read } of answers) {
    const [row] = read.runs;
    if (row) return { place, row, ...read };
  }
  throw notFound("Run", run_id);
}
