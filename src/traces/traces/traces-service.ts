import type { Context } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { DAY_US, nowMicros } from "../../shared/times.ts";
import type { JsonObject } from "../json.ts";
import { findPage } from "../query/query-service.ts";
import { toItem, toSelect } from "../query/query-v2.ts";
import {
  type TraceRuns,
  type TraceRunsQuery,
  TracesPage,
  type TracesQueryRequest,
} from "./traces-schema.ts";

const MAX_RUNS = 1000;

/** Fields of the root run that the answer has in `trace_aggregates`. */
const AGGREGATES = ["total_tokens", "total_cost", "first_token_time"];

export async function queryTraces(ctx: Context, input: TracesQueryRequest): Promise<TracesPage> {
  const select = toSelect(input.selects ?? ["ID"]);
  const { runs, next } = await findPage(ctx, {
    session: [input.project_id],
    // `in` of a filter refuses an empty list. As `id` it finds nothing.
    id: input.trace_ids?.length === 0 ? [] : null,
    is_root: true,
    filter: input.trace_filter,
    search_filter: ofTraces(input.trace_ids),
    tree_filter: input.tree_filter,
    cursor: input.cursor,
    start_time: input.min_start_time ?? nowMicros() - DAY_US,
    end_time: input.max_start_time,
    limit: input.page_size,
    order: "desc",
    select,
  });
  const items = runs.map(toTrace);
  return TracesPage.parse({ items, has_more: next !== null, next_cursor: next });
}

function ofTraces(ids: string[] | null | undefined): string | null {
  return ids?.length ? `in(trace_id, ${JSON.stringify(ids)})` : null;
}

/** Moves totals out of the root run: its usage is that of the trace. */
function toTrace(run: JsonObject) {
  const fields = Object.entries(toItem(run));
  const isTotal = ([name]: [string, unknown]) => AGGREGATES.includes(name);
  const totals = fields.filter(isTotal).map(([name, value]) => {
    return [name, name === "total_cost" && value !== null ? Number(value) : value];
  });
  return {
    root_run: Object.fromEntries(fields.filter((field) => !isTotal(field))),
    ...(totals.length > 0 && { trace_aggregates: Object.fromEntries(totals) }),
  };
}

/** Returns all runs of a trace that match. @throws AppError 413 for more than fit the answer, which has no pages */
export async function listTraceRuns(
  ctx: Context,
  trace_id: string,
  project_id: string,
  { filter, min_start_time, max_start_time, selects }: TraceRunsQuery,
): Promise<TraceRuns> {
  const page = findPage(ctx, {
    session: [project_id],
    trace: trace_id,
    filter,
    start_time: min_start_time,
    end_time: max_start_time,
    limit: MAX_RUNS,
    order: "asc",
    select: toSelect(selects ?? ["ID"]),
  });
  const { runs, next } = await page.catch(refuseCursor);
  if (next === null) return { items: runs.map(toItem) };
  throw tooLarge();
}

/** Replaces an error that names the cursor of the next page: this call takes no cursor. */
function refuseCursor(cause: unknown): never {
  throw AppError.from(cause).code === "too_large" ? tooLarge(cause) : cause;
}

function tooLarge(cause?: unknown): AppError {
  const text = `The trace has more than ${MAX_RUNS} runs, or too large ones: narrow it with filter, min_start_time and max_start_time, name fewer fields in selects, or read it by page with POST /api/v2/runs/query.`;
  return new AppError("too_large", text, { cause });
}
