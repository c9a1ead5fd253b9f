import type { Context } from "../../shared/context.ts";
import { AppError, invalid, notFound } from "../../shared/errors.ts";
import { isRecord } from "../../shared/guards.ts";
import { log } from "../../shared/log.ts";
import type { AttachedFile } from "../changes.ts";
import { type IncomingRun, PAYLOADS } from "../changes.ts";
import { type ExactJson, exactTexts } from "../exact-json.ts";
import { createFeedbackBatch } from "../feedback/feedback-service.ts";
import { MAX_RUNS_PER_BATCH } from "../limits.ts";
import { assertMayIngest, readJson, withBody } from "./body.ts";
import { type ChangeKind, type RunBatch, readBatch, toIncoming } from "./incoming.ts";
import { completeLineage, traceOf } from "./lineage.ts";
import { boundaryOf, readParts } from "./multipart.ts";
import { readBundle, tooMany } from "./multipart-runs.ts";
import { findHomes } from "./placement.ts";
import { ingest } from "./store-runs.ts";

type Message = { message: string };

export async function createTraceRun(ctx: Context, request: Request): Promise<Message> {
  await assertMayIngest(ctx);
  await withBody(ctx, request, async (bytes) => {
    const json = await readJson(bytes);
    const run = toIncoming(json.value, "post", ["body"], exactTexts(json, PAYLOADS));
    await ingest(ctx, [await completeLineage(ctx, run)]);
  });
  return { message: "Run accepted." };
}

export async function patchTraceRun(
  ctx: Context,
  run_id: string,
  request: Request,
): Promise<Message> {
  await assertMayIngest(ctx);
  await withBody(ctx, request, async (bytes) => {
    const { value, exact } = await readJson(bytes);
    if (!isRecord(value)) throw invalid(["body"], "must be a JSON object");
    const texts = exactTexts({ value, exact }, PAYLOADS);
    const run = toIncoming({ ...value, id: run_id }, "patch", ["body"], texts);
    const isNamed = run.session_id !== null || run.session_name !== null;
    if (!isNamed && !(await findHomes(ctx, [run])).has(run.id)) throw notFound("Run", run.id);
    await ingest(ctx, [run]);
  });
  return { message: "Run changed." };
}

export async function ingestBatch(ctx: Context, request: Request): Promise<Message> {
  await assertMayIngest(ctx);
  await withBody(ctx, request, async (bytes) => {
    const { runs, refusal } = toBatch(await readJson(bytes));
    await ingest(ctx, runs);
    if (refusal) throw refusal;
  });
  return { message: "Runs batch ingested" };
}

function toBatch({ value, exact }: ExactJson): RunBatch {
  if (!isRecord(value) || !isRecord(exact)) {
    throw invalid(["body"], "must be an object with the arrays post and patch");
  }
  const [posts, patches] = [listOf(value, "post"), listOf(value, "patch")];
  if (posts.length + patches.length > MAX_RUNS_PER_BATCH) throw tooMany();
  const toRuns = (runs: unknown[], kind: ChangeKind) => {
    const originals = listOf(exact, kind);
    return runs.map((run, n) => () => {
      const texts = exactTexts({ value: run, exact: originals[n] }, PAYLOADS);
      return toIncoming(run, kind, ["body", kind, n], texts);
    });
  };
  return readBatch([...toRuns(posts, "post"), ...toRuns(patches, "patch")]);
}

export async function ingestMultipart(ctx: Context, request: Request): Promise<Message> {
  await assertMayIngest(ctx);
  const boundary = boundaryOf(request.headers.get("Content-Type") ?? "");
  if (boundary === null) {
    const text = "Content-Type must be multipart/form-data with a boundary.";
    throw new AppError("unsupported_media_type", text);
  }
  await withBody(ctx, request, async (bytes) => {
    const { runs, refusal, files, feedback } = await readBundle(readParts(bytes, boundary));
    await ingest(ctx, [...runs, ...attachedOnly(runs, files)], files);
    await createFeedbackBatch(ctx, feedback);
    if (refusal) throw refusal;
  });
  return { message: "Runs batch ingested" };
}

/** Trace of a run of this service: JSON, with long payloads as separate texts. */
export type InternalTrace = {
  kind: ChangeKind;
  data: string;
  texts: Partial<Record<string, string>>;
};

/**
 * Prefers the project that a run names. Drops runs that ingestion rejects: a retry would fail
 * again.
 * @returns the roots that have ended, by their ids
 */
export async function ingestInternal<T extends InternalTrace>(
  ctx: Context,
  project_id: string,
  traces: T[],
): Promise<Map<string, T>> {
  const ended = new Map<string, T>();
  const runs = traces.flatMap((one) => {
    try {
      const run = toInternalRun(one);
      if (run.columns.end_us !== undefined && traceOf(run) === run.id) ended.set(run.id, one);
      return [run.session_name === null ? { ...run, session_id: project_id } : run];
    } catch (error) {
      log.error("own_trace_refused", error);
      return [];
    }
  });
  await ingest(ctx, runs);
  return ended;
}

function toInternalRun({ kind, data, texts }: InternalTrace): IncomingRun {
  const apart = Object.entries(texts).map(([name, text = "null"]) => [name, JSON.parse(text)]);
  return toIncoming({ ...JSON.parse(data), ...Object.fromEntries(apart) }, kind, ["body"], texts);
}

/** Returns changes for files whose runs the body does not contain. */
function attachedOnly(runs: IncomingRun[], files: AttachedFile[]): IncomingRun[] {
  const mentioned = new Set(runs.map(({ id }) => id));
  const alone = new Set(files.map(({ run_id }) => run_id).filter((id) => !mentioned.has(id)));
  return [...alone].map((id) => toIncoming({ id }, "patch", ["body", `attachment.${id}`]));
}

function listOf(value: Record<string, unknown>, field: "post" | "patch"): unknown[] {
  const list = value[field] ?? [];
  if (!Array.isArray(list)) throw invalid(["body", field], "must be an array of runs");
  return list;
}
