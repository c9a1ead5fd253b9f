import type { Context } from "../../shared/context.ts";
import { isRecord } from "../../shared/guards.ts";
import { toIso } from "../../shared/times.ts";
import { finiteOrNull } from "../aggregates/feedback-totals.ts";
import type { PartitionKey, PayloadName } from "../changes.ts";
import { parseDottedOrder } from "../dotted-order.ts";
import { parseToWrite } from "../exact-json.ts";
import type { JsonObject } from "../json.ts";
import { attachmentUrl } from "../links/attachment-urls.ts";
import type { ReadRuns } from "../reads/run-pages.ts";
import { loadText } from "../rows/payloads.ts";
import { previewOf } from "../rows/previews.ts";
import type { Pointers, TraceRunRow } from "../rows/rows.ts";

export const RUN_COLUMNS = [
  "id",
  "trace_id",
  "parent_run_id",
  "name",
  "run_type",
  "start_us",
  "end_us",
  "status",
  "error",
  "is_root",
  "dotted_order",
  "thread_id",
  "reference_example_id",
  "trace_tier",
  "execution_order",
  "total_tokens",
  "prompt_tokens",
  "completion_tokens",
  "total_cost",
  "prompt_cost",
  "completion_cost",
  "first_token_us",
  "tags",
  "inputs",
  "outputs",
  "extra",
  "events",
  "serialized",
  "pointers",
] as const satisfies (keyof TraceRunRow)[];

/** Returns the original name and error, where a column could not hold malformed Unicode. */
function exactTextsOf({ exact = {} }: Pointers) {
  const { former_starts: _, ...texts } = exact;
  return texts;
}

/** Converts a row to its wire form. Reads only the wanted payloads, some of them from R2. `wanted`: `null` for all. */
export async function toRun(
  ctx: Pick<Context, "env" | "caller">,
  partition: PartitionKey,
  row: TraceRunRow,
  read: Pick<ReadRuns, "feedback" | "values">,
  wanted: ReadonlySet<string> | null = null,
): Promise<JsonObject> {
  const pointers: Pointers = row.pointers ? JSON.parse(row.pointers) : {};
  const lineage = row.dotted_order ? parseDottedOrder(row.dotted_order) : null;
  const parents = row.parent_run_id === null ? [] : [row.parent_run_id];
  const [inputs, outputs, extra, events, serialized] = await Promise.all(
    (["inputs", "outputs", "extra", "events", "serialized"] as const).map((name) =>
      wanted === null || wanted.has(name) ? payloadOf(ctx.env, row, pointers, name) : null,
    ),
  );
  return {
    ...scalars(row),
    ...exactTextsOf(pointers),
    session_id: partition.project_id,
    parent_run_ids: lineage?.parent_run_ids ?? parents,
    child_run_ids: null,
    direct_child_run_ids: null,
    inputs: inputs ?? {},
    outputs,
    ...previewsOf(row, wanted),
    extra: isRecord(extra) ? extra : null,
    events: Array.isArray(events) ? events : [],
    serialized,
    tags: row.tags ? JSON.parse(row.tags) : [],
    feedback_stats: statsOf(row.id, read),
    files: filesOf(row.id, pointers),
    s3_urls:
      wanted === null || wanted.has("s3_urls") ? await signedUrls(ctx, row.id, pointers) : {},
    app_path: `/projects/p/${partition.project_id}/r/${row.id}`,
    in_dataset: false,
  };
}

/** Computes the selected previews. A query that selects one reads the column of its payload too: see `columnsOf`. */
function previewsOf(row: TraceRunRow, wanted: ReadonlySet<string> | null): JsonObject {
  const names = (["inputs", "outputs"] as const).filter((name) => wanted?.has(`${name}_preview`));
  return Object.fromEntries(names.map((name) => [`${name}_preview`, previewOf(row[name] ?? null)]));
}

function scalars(row: TraceRunRow): JsonObject {
  const { start_us, end_us, first_token_us, is_root, execution_order, ...rest } = row;
  return {
    ...rest,
    // Earlier versions stored integers beyond the safe ones, which the schema of an answer refuses.
    execution_order: Number.isSafeInteger(execution_order) ? execution_order : null,
    is_root: is_root === 1,
    start_time: toIso(start_us),
    end_time: end_us === null ? null : toIso(end_us),
    latency: end_us === null ? null : (end_us - start_us) / 1_000_000,
    first_token_time: first_token_us === null ? null : toIso(first_token_us),
  };
}

async function payloadOf(env: Env, row: TraceRunRow, pointers: Pointers, name: PayloadName) {
  const pointer = pointers[name];
  const text = pointer === undefined ? row[name] : await loadText(env, pointer.key);
  return text == null ? null : parseToWrite(text);
}

export function statsOf(
  run_id: string,
  { feedback, values }: Pick<ReadRuns, "feedback" | "values">,
) {
  const ours = feedback.filter((stat) => stat.run_id === run_id);
  return Object.fromEntries(
    ours.map(({ key, n, avg }) => {
      const counts = values.filter((one) => one.run_id === run_id && one.key === key);
      return [
        key,
        {
          n,
          avg: finiteOrNull(avg),
          values: Object.fromEntries(counts.map((one) => [one.value, one.n])),
        },
      ];
    }),
  );
}

function filesOf(run_id: string, { attachments = {} }: Pointers) {
  return Object.fromEntries(
    Object.entries(attachments).map(([name, { content_type, bytes }]) => {
      const url = `/api/v1/runs/${run_id}/attachments/${encodeURIComponent(name)}`;
      return [name, { content_type, bytes, url }];
    }),
  );
}

/** Returns signed URLs: LangSmith's Python SDK downloads attachments without its key. */
async function signedUrls(
  { env, caller: { workspace_id } }: Pick<Context, "env" | "caller">,
  run_id: string,
  { attachments = {} }: Pointers,
) {
  const urls = Object.entries(attachments).map(async ([name, { content_type }]) => {
    const presigned_url = await attachmentUrl(env, { workspace_id, run_id, name });
    return [`attachment.${name}`, { presigned_url, mime_type: content_type }] as const;
  });
  return Object.fromEntries(await Promise.all(urls));
}
