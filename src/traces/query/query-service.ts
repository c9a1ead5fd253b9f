import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { DAY_US, nowMicros } from "../../shared/times.ts";
import { findPartitions } from "../catalogue/catalogue.ts";
import type { PartitionKey } from "../changes.ts";
import type { JsonObject } from "../json.ts";
import { smallColumns, withLargeColumns } from "../object/large-columns.ts";
import { tracePartition } from "../object/stub.ts";
import { assertReadRate } from "../rates.ts";
import type { ReadRuns } from "../reads/run-pages.ts";
import type { Columns, TraceRunRow } from "../rows/rows.ts";
import { type RunMatch, searchPartitions } from "./page-search.ts";
import { columnsOf, scopeOf, toPlan, writeCursor } from "./query-plan.ts";
import { RunsPage, type RunsQueryRequest } from "./query-schema.ts";
import { partitionsInScope } from "./scope.ts";
import { toRun } from "./to-run.ts";

export type FoundRuns = { runs: JsonObject[]; next: string | null };

/** Fields without which LangSmith's clients read no run. */
const REQUIRED = ["id", "name", "run_type", "start_time", "trace_id"];

export async function queryRuns(ctx: Context, input: RunsQueryRequest): Promise<RunsPage> {
  const select = input.select && [...input.select, ...REQUIRED];
  const { runs, next } = await findPage(ctx, { ...input, select });
  return RunsPage.parse({
    runs,
    cursors: { next, prev: null },
    search_cursors: null,
    parsed_query: null,
  });
}

function isWithinWeek({ start_time, end_time }: RunsQueryRequest): boolean {
  return start_time != null && (end_time ?? nowMicros()) - start_time <= 7 * DAY_US;
}

export async function findPage(ctx: Context, input: RunsQueryRequest): Promise<FoundRuns> {
  assertMay(ctx, "read");
  assertReadRate(ctx, isWithinWeek(input) ? "query_week" : "query_longer");
  const select = input.select ?? null;
  if (input.id) {
    const found = await findByIds(ctx, input.id, columnsOf(select));
    return { runs: await toRuns(ctx, found, select), next: null };
  }
  const plan = toPlan(input);
  const groups = await partitionsInScope(ctx, scopeOf(plan, input.session ?? null), plan.order);
  const outline = { ...plan, columns: smallColumns(plan.columns), limit: input.limit + 1 };
  const { found, seq, stopped } = await searchPartitions(ctx, groups, outline);
  const page = await withLargeColumns(ctx.env, found.slice(0, input.limit), plan.columns);
  const end = found.length > page.length ? (page.at(-1)?.row ?? null) : stopped;
  const max_seq = plan.max_seq ?? seq;
  const next = end && writeCursor({ start_us: end.start_us, id: end.id, max_seq });
  return { runs: await toRuns(ctx, page, select), next };
}

export async function findByIds(
  ctx: Context,
  ids: string[],
  columns: Columns,
): Promise<RunMatch[]> {
  const located = await findPartitions(ctx, ids);
  const answers = await Promise.all(
    located.map(async ({ partition, ids: here }) => {
      const read = await tracePartition(ctx.env, partition).getRuns(here, smallColumns(columns));
      return read.runs.map((row) => ({ partition, row, read }));
    }),
  );
  const found = answers.flat();
  const page = await withLargeColumns(ctx.env, found, columns);
  if (page.length === found.length) return page;
  const text = "The runs are too large for one answer: name fewer ids, or fewer fields in select.";
  throw new AppError("too_large", text);
}

export async function toRuns(
  ctx: Context,
  found: {
    partition: PartitionKey;
    row: TraceRunRow;
    read: Pick<ReadRuns, "feedback" | "values">;
  }[],
  select: string[] | null,
) {
  const wanted = select === null ? null : new Set([...select, "id"]);
  const runs = found.map(async ({ partition, row, read }) => {
    const run = await toRun(ctx, partition, row, read, wanted);
    if (wanted === null) return run;
    return Object.fromEntries(Object.entries(run).filter(([name]) => wanted.has(name)));
  });
  return Promise.all(runs);
}
