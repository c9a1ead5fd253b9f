import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { AppError, invalid, notFound } from "../../shared/errors.ts";
import { isRecord } from "../../shared/guards.ts";
import { log } from "../../shared/log.ts";
import type { AttachedFile } from "../changes.ts";
import { type IncomingRun, PAYLOADS } from "../changes.ts";
import { exactTexts } from "../exact-json.ts";
import { createFeedbackBatch } from "../feedback/feedback-service.ts";
import { MAX_RUNS_PER_BATCH } from "../limits.ts";
import { openSlot, saveLocations } from "../object/catalogue.ts";
import { storePayloads } from "../object/payloads.ts";
import { tierOfProject } from "../object/projects.ts";
import { tracePartition } from "../object/stub.ts";
import { assertTraceRate } from "../rates.ts";
import { readBytes, readJson } from "./body.ts";
import { type ChangeKind, toIncoming } from "./incoming.ts";
import { completeLineage } from "./lineage.ts";
import { boundaryOf, readParts } from "./multipart.ts";
import { readBundle, tooMany } from "./multipart-runs.ts";
import { findHomes, type PlacedRun, placeRuns } from "./placement.ts";

type Message = { message: string };

/** Limits of one call to an object. */
const CALL_RUNS = 1000;
const CALL_CHARS = 8_000_000;

export async function createTraceRun(ctx: Context, request: Request): Promise<Message> {
  assertMay(ctx, "write");
  assertTraceRate(ctx, "ingest");
  const json = await readJson(request);
  const run = toIncoming(json.value, "post", ["body"], exactTexts(json, PAYLOADS));
  await ingest(ctx, [await completeLineage(ctx, run)]);
  return { message: "Run accepted." };
}

export async function patchTraceRun(
  ctx: Context,
  run_id: string,
  request: Request,
): Promise<Message> {
  assertMay(ctx, "write");
  assertTraceRate(ctx, "ingest");
  const { value, exact } = await readJson(request);
  if (!isRecord(value)) throw invalid(["body"], "must be a JSON object");
  const texts = exactTexts({ value, exact }, PAYLOADS);
  const run = toIncoming({ ...value, id: run_id }, "patch", ["body"], texts);
  const isNamed = run.session_id !== null || run.session_name !== null;
  if (!isNamed && !(await findHomes(ctx, [run])).has(run.id)) throw notFound("Run", run.id);
  await ingest(ctx, [run]);
  return { message: "Run changed." };
}

export async function ingestBatch(ctx: Context, request: Request): Promise<Message> {
  assertMay(ctx, "write");
  assertTraceRate(ctx, "ingest");
  const { value, exact } = await readJson(request);
  if (!isRecord(value) || !isRecord(exact)) {
    throw invalid(["body"], "must be an object with the arrays post and patch");
  }
  const [posts, patches] = [listOf(value, "post"), listOf(value, "patch")];
  if (posts.length + patches.length > MAX_RUNS_PER_BATCH) throw tooMany();
  const toRuns = (runs: unknown[], kind: ChangeKind) => {
    const originals = listOf(exact, kind);
    return runs.map((run, n) => {
      const texts = exactTexts({ value: run, exact: originals[n] }, PAYLOADS);
      return toIncoming(run, kind, ["body", kind, n], texts);
    });
  };
  await ingest(ctx, [...toRuns(posts, "post"), ...toRuns(patches, "patch")]);
  return { message: "Runs batch ingested" };
}

export async function ingestMultipart(ctx: Context, request: Request): Promise<Message> {
  assertMay(ctx, "write");
  assertTraceRate(ctx, "ingest");
  const boundary = boundaryOf(request.headers.get("Content-Type") ?? "");
  if (boundary === null) {
    const text = "Content-Type must be multipart/form-data with a boundary.";
    throw new AppError("unsupported_media_type", text);
  }
  const { runs, files, feedback } = await readBundle(readParts(readBytes(request), boundary));
  await ingest(ctx, [...runs, ...attachedOnly(runs, files)], files);
  await createFeedbackBatch(ctx, feedback);
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
 */
export async function ingestInternal(
  ctx: Context,
  project_id: string,
  traces: InternalTrace[],
): Promise<void> {
  const runs = traces.flatMap((one) => {
    try {
      const run = toInternalRun(one);
      return [run.session_name === null ? { ...run, session_id: project_id } : run];
    } catch (error) {
      log.error("own_trace_refused", error);
      return [];
    }
  });
  await ingest(ctx, runs);
}

function toInternalRun({ kind, data, texts }: InternalTrace): IncomingRun {
  const apart = Object.entries(texts).map(([name, text = "null"]) => [name, JSON.parse(text)]);
  return toIncoming({ ...JSON.parse(data), ...Object.fromEntries(apart) }, kind, ["body"], texts);
}

/** Stores runs durably before it returns. Idempotent. */
export async function ingest(
  ctx: Context,
  runs: IncomingRun[],
  files: AttachedFile[] = [],
): Promise<void> {
  const placed = await placeRuns(ctx, runs);
  await saveLocations(
    ctx,
    placed.flatMap(({ location }) => location ?? []),
  );
  const homes = new Map<string, PlacedRun[]>();
  for (const one of placed) {
    const key = `${one.home.project_id}/${one.home.day}`;
    const group = homes.get(key);
    if (group) group.push(one);
    else homes.set(key, [one]);
  }
  const filesOf = Map.groupBy(files, ({ run_id }) => run_id);
  await Promise.all([...homes.values()].map((group) => writeGroup(ctx, group, filesOf)));
}

async function writeGroup(
  ctx: Context,
  group: PlacedRun[],
  filesOf: Map<string, AttachedFile[]>,
): Promise<void> {
  const [first] = group;
  if (!first) return;
  const { home } = first;
  const last = await openSlot(ctx, home);
  const project_tier = await tierOfProject(ctx, home.project_id);
  for (const call of calls(group)) {
    let changes = await Promise.all(
      call.map(async ({ run }) => ({
        ...(await storePayloads(ctx.env, home.project_id, run, filesOf.get(run.id) ?? [])),
        project_tier,
      })),
    );
    // Visits all slots: a run in an older, full slot is updated there.
    for (let slot = 0; slot <= last && changes.length > 0; slot++) {
      const partition = { ...home, slot };
      const unknown = await tracePartition(ctx.env, partition).ingest(
        partition,
        changes,
        slot < last,
      );
      const left = new Set(unknown);
      changes = changes.filter(({ id }) => left.has(id));
    }
  }
}

function* calls(group: PlacedRun[]): Generator<PlacedRun[]> {
  let call: PlacedRun[] = [];
  let chars = 0;
  for (const one of group) {
    call.push(one);
    for (const payload of Object.values(one.run.payloads)) {
      if ("text" in payload) chars += payload.text.length;
    }
    if (call.length < CALL_RUNS && chars < CALL_CHARS) continue;
    yield call;
    [call, chars] = [[], 0];
  }
  if (call.length > 0) yield call;
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
