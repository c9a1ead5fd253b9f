import type { Context } from "../../shared/context.ts";
import { invalid } from "../../shared/errors.ts";
import { DAY_US, nowMicros } from "../../shared/times.ts";
import type { JsonObject } from "../json.ts";
import { findShareToken, shareUrl } from "../links/share-links.ts";
import { RunsPageV2, type RunsQueryV2Request } from "./query-schema.ts";
import { findPage } from "./query-service.ts";
import { getTraceRun } from "./run-service.ts";

const PAGE_SIZE = 100;

/** Field names of version 2 by those of version 1. */
const RENAMED: Record<string, string> = {
  session_id: "project_id",
  in_dataset: "is_in_dataset",
  serialized: "manifest",
  latency: "latency_seconds",
};
/** Fields that version 2 does not have. */
const GONE = new Set([
  "parent_run_id",
  "child_run_ids",
  "direct_child_run_ids",
  "execution_order",
  "trace_tier",
]);
const ORIGINAL = Object.fromEntries(Object.entries(RENAMED).map(([v1, v2]) => [v2, v1]));

/** Translates to a query of version 1. By default reads the last day, or any time with `ids`, and returns only ids. */
export async function queryRunsV2(ctx: Context, input: RunsQueryV2Request): Promise<RunsPageV2> {
  const { ids, project_ids, trace_id, reference_examples, page_size, selects, sort_order } = input;
  if (!ids && !project_ids && !trace_id && !reference_examples) {
    throw invalid(["body", "project_ids"], "is missing: name the projects to search");
  }
  const select = toSelect(selects ?? ["ID"]);
  const { runs, next } = await findPage(ctx, {
    id: ids,
    session: project_ids,
    trace: trace_id,
    reference_example: reference_examples,
    run_type: input.run_type,
    error: input.has_error,
    is_root: input.is_root,
    filter: input.filter,
    trace_filter: input.trace_filter,
    tree_filter: input.tree_filter,
    cursor: input.cursor,
    start_time: input.min_start_time ?? (ids ? null : nowMicros() - DAY_US),
    end_time: input.max_start_time,
    limit: page_size ?? PAGE_SIZE,
    order: sort_order === "ASC" ? "asc" : "desc",
    select,
  });
  return RunsPageV2.parse({ items: runs.map(toItem), has_more: next !== null, next_cursor: next });
}

/** Returns the selected fields, by default all but `share_url`. */
export async function getRunV2(
  ctx: Context,
  run_id: string,
  selects: string[] | undefined,
  origin: string,
): Promise<JsonObject> {
  const run = await getTraceRun(ctx, run_id, selects ? toSelect(selects) : null);
  if (selects === undefined) return toItem(run);
  const wanted = new Set(["id", ...selects.map((name) => name.toLowerCase())]);
  const share = wanted.has("share_url") ? await shareUrlOf(ctx, run.trace_id, origin) : {};
  const item = { ...toItem(run), ...share };
  return Object.fromEntries(Object.entries(item).filter(([name]) => wanted.has(name)));
}

async function shareUrlOf(ctx: Context, trace_id: string, origin: string) {
  const token = await findShareToken(ctx, trace_id);
  return token === null ? {} : { share_url: shareUrl(ctx.env, origin, token) };
}

export function toSelect(names: string[]): string[] {
  return names.map((name) => ORIGINAL[name.toLowerCase()] ?? name.toLowerCase());
}

export function toItem(run: JsonObject): JsonObject {
  const fields = Object.entries(run).flatMap(([name, value]): [string, unknown][] => {
    if (GONE.has(name)) return [];
    if (name === "status") return [[name, String(value).toUpperCase()]];
    if (name === "run_type") return [[name, String(value).toUpperCase()]];
    return [[RENAMED[name] ?? name, value]];
  });
  return Object.fromEntries(fields);
}
