import type { Context } from "../../shared/context.ts";
import { AppError, type Issue, invalid, notFound } from "../../shared/errors.ts";
import { isRecord } from "../../shared/guards.ts";
import { log } from "../../shared/log.ts";
import { knownProjects } from "../catalogue/projects.ts";
import { type AttachedFile, type Home, type IncomingRun, PAYLOADS } from "../changes.ts";
import { type ExactJson, exactTexts } from "../exact-json.ts";
import { createFeedbackBatch } from "../feedback/feedback-service.ts";
import { MAX_RUNS_PER_BATCH } from "../limits.ts";
import { assertMayIngest, readJson, withBody } from "./body.ts";
import { assertStored, type ChangeKind, type RunBatch, readBatch, toIncoming } from "./incoming.ts";
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
    await ingestOne(ctx, await completeLineage(ctx, run));
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
    await ingestOne(ctx, run);
  });
  return { message: "Run changed." };
}

/** @throws AppError 404 when the workspace has no such project */
async function ingestOne(ctx: Context, run: IncomingRun): Promise<void> {
  const [lost] = await ingest(ctx, [run]);
  if (lost) throw notFound("Project", lost.home.project_id);
}

export async function ingestBatch(ctx: Context, request: Request): Promise<Message> {
  await assertMayIngest(ctx);
  await withBody(ctx, request, async (bytes) => {
    const batch = await inKnownProjects(ctx, toBatch(await readJson(bytes)));
    const lost = await ingest(ctx, batch.runs);
    assertStored({ ...batch, issues: [...batch.issues, ...lost.map(withoutProject)] });
  }).catch((error: unknown) => {
    throw withoutNotFound(error);
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
    const { files, feedback, ...read } = await readBundle(readParts(bytes, boundary));
    const { runs, issues } = await inKnownProjects(ctx, read);
    const lost = await ingest(ctx, [...runs, ...attachedOnly(read.runs, files)], files);
    const ofFeedback = await createFeedbackBatch(ctx, feedback);
    assertStored({ runs, issues: [...issues, ...lost.map(withoutProject), ...ofFeedback] });
  }).catch((error: unknown) => {
    throw withoutNotFound(error);
  });
  return { message: "Runs batch ingested" };
}

/** Refuses the runs whose `session_id` is not that of a project in the workspace. */
async function inKnownProjects(ctx: Context, { runs, issues }: RunBatch): Promise<RunBatch> {
  const named = new Set(runs.flatMap(({ session_id }) => session_id ?? []));
  const known = await knownProjects(ctx, [...named]);
  const isKnown = ({ session_id }: IncomingRun) => session_id === null || known.has(session_id);
  const others = runs
    .filter((run) => !isKnown(run))
    .map((run) => withoutProject({ run, home: { project_id: run.session_id ?? "" } }));
  return { runs: runs.filter(isKnown), issues: [...issues, ...others] };
}

type RunWithoutProject = { run: IncomingRun; home: Pick<Home, "project_id"> };

function withoutProject({ run: { id, kind }, home }: RunWithoutProject): Issue {
  const msg = notFound("Project", home.project_id).message;
  return { loc: ["body", `${kind}.${id}`, "session_id"], msg, type: "value_error" };
}

/** Turns a 404 into a 422: clients take a 404 for a server without this path, and send no attachments from then on. */
function withoutNotFound(error: unknown): unknown {
  const { code, message } = AppError.from(error);
  return code === "not_found" ? invalid(["body"], message) : error;
}

/** Trace run of an agent that runs here: JSON, with long payloads as separate texts. */
export type InternalTrace = {
  kind: ChangeKind;
  data: string;
  texts: Partial<Record<string, string>>;
};

type InternalIngestion<T> = {
  /** Valid traces of roots that have ended, by the ids of the runs. */
  ended: Map<string, T>;
  /** Traces that are not stored, because the given project has been deleted. */
  lost: T[];
};

/**
 * Stores each run in the project of its `session_name`, else in the given one. Drops invalid runs: a retry would fail
 * again.
 */
export async function ingestInternal<T extends InternalTrace>(
  ctx: Context,
  project_id: string,
  traces: T[],
): Promise<InternalIngestion<T>> {
  const ended = new Map<string, T>();
  const traceOfRun = new Map<IncomingRun, T>();
  for (const one of traces) {
    try {
      const run = toInternalRun(one);
      if (run.columns.end_us !== undefined && traceOf(run) === run.id) ended.set(run.id, one);
      traceOfRun.set(run.session_name === null ? { ...run, session_id: project_id } : run, one);
    } catch (error) {
      log.error("own_trace_refused", error);
    }
  }
  const lost = await ingest(ctx, [...traceOfRun.keys()]);
  return { ended, lost: lost.flatMap(({ run }) => traceOfRun.get(run) ?? []) };
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
