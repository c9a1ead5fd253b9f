import type { Context } from "../../shared/context.ts";
import { AppError, nullIfNotFound } from "../../shared/errors.ts";
import { chunks } from "../../shared/work/chunks.ts";
import { parseToWrite } from "../exact-json.ts";
import { findSharedTrace } from "../links/share-links.ts";
import type { TraceSpan } from "../live/trace-schema.ts";
import { readTrace } from "../live/trace-service.ts";
import type { RunMatch } from "../query/page-search.ts";
import { findByIds } from "../query/query-service.ts";
import type { Pointers, TraceRunRow } from "../rows/rows.ts";
import { openShare } from "./shared-run-service.ts";

export type PageLimits = { runs: number; chars: number };
export type SpanTexts = { Inputs: string | null; Outputs: string | null; Error: string | null };
export type SharedSpan = { span: TraceSpan; texts: SpanTexts };

/** Limits of a page: runs, and characters of each text. They bound its memory and its subrequests. */
export const PAGE_LIMITS: PageLimits = { runs: 500, chars: 20_000 };
/** Number of runs whose texts are read at once. The texts of a run have up to 600,000 characters. */
const AT_ONCE = 20;

export type SharedPage = {
  root: TraceSpan;
  is_cut: boolean;
  spans: AsyncGenerator<SharedSpan>;
};

/** @returns `null` when the link does not exist, or its trace has no runs */
export async function openPage(env: Env, token: string): Promise<SharedPage | null> {
  if ((await findSharedTrace(env, token)) === null) return null;
  const { ctx, trace } = await openShare(env, token);
  const found: TraceSpan[] = [];
  const lines = await nullIfNotFound(readTrace(ctx, trace.trace_id, undefined));
  if (lines === null) return null;
  for await (const line of lines) {
    if ("id" in line) found.push(line);
    if (found.length > PAGE_LIMITS.runs) break;
  }
  const [root] = found;
  if (!root) return null;
  const shown = found.slice(0, PAGE_LIMITS.runs);
  return { root, is_cut: shown.length < found.length, spans: withTexts(ctx, shown) };
}

async function* withTexts(ctx: Context, spans: TraceSpan[]): AsyncGenerator<SharedSpan> {
  for (const some of chunks(spans, AT_ONCE)) {
    const found = await readTexts(
      ctx,
      some.map(({ id }) => id),
    );
    const rows = new Map(found.map(({ row }) => [row.id, row]));
    for (const span of some) yield { span, texts: textsOf(rows.get(span.id)) };
  }
}

/**
 * Reads fewer runs at once when they do not fit an answer: payloads in R2 count, though the page does not load them.
 */
async function readTexts(ctx: Context, ids: string[]): Promise<RunMatch[]> {
  const found = findByIds(ctx, ids, ["id", "inputs", "outputs", "error", "pointers"]);
  return found.catch(async (error: unknown) => {
    if (AppError.from(error).code !== "too_large" || ids.length === 1) throw error;
    const half = Math.ceil(ids.length / 2);
    const first = await readTexts(ctx, ids.slice(0, half));
    return [...first, ...(await readTexts(ctx, ids.slice(half)))];
  });
}

function textsOf(row: TraceRunRow | undefined): SpanTexts {
  const pointers: Pointers = row?.pointers ? JSON.parse(row.pointers) : {};
  const textOf = (name: "inputs" | "outputs") => {
    const pointer = pointers[name];
    if (pointer) return `${pointer.bytes} bytes: read them by the API.`;
    return row?.[name] == null ? null : truncate(pretty(row[name]));
  };
  const error = row?.error == null ? null : truncate(row.error);
  return { Inputs: textOf("inputs"), Outputs: textOf("outputs"), Error: error };
}

function pretty(json: string): string {
  return JSON.stringify(parseToWrite(json), null, 2);
}

function truncate(text: string): string {
  const { chars } = PAGE_LIMITS;
  if (text.length <= chars) return text;
  return `${text.slice(0, chars)}\n[${text.length - chars} more characters]`;
}
