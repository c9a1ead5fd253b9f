import type { Context } from "../../shared/context.ts";
import { AppError, notFound } from "../../shared/errors.ts";
import { joined } from "../../shared/http/body.ts";
import { resolveProject } from "../catalogue/projects.ts";
import type { IncomingRun } from "../changes.ts";
import { assertMayIngest, withBody } from "../ingest/body.ts";
import { ingest } from "../ingest/store-runs.ts";
import { isJson, isProtobuf, PROTOBUF, type Rejection } from "./answers.ts";
import { decodeJson } from "./json.ts";
import { decodeProtobuf } from "./protobuf.ts";
import { type DecodedSpans, rejectSpans } from "./span.ts";
import { SpanIds } from "./span-ids.ts";
import { toRun } from "./to-run.ts";

const PROJECT_HEADER = "Langsmith-Project";
const MAX_REASON_CHARS = 1000;

/** Stores the valid spans durably before it returns. Idempotent. */
export async function ingestSpans(ctx: Context, request: Request): Promise<Rejection> {
  await assertMayIngest(ctx);
  const decode = decoderOf(request);
  const project = request.headers.get(PROJECT_HEADER)?.trim() || null;
  return withBody(ctx, request, async (bytes) => {
    const decoded = decode(await joined(bytes));
    const runs = toRuns(decoded, project);
    const lost = await ingest(ctx, parentsFirst(await inOwnProjects(ctx, runs, decoded)));
    for (const { home } of lost) reject(decoded, notFound("Project", home.project_id));
    const reason = decoded.reasons.join("; ").slice(0, MAX_REASON_CHARS);
    return { rejected: decoded.rejected, reason };
  });
}

function decoderOf(request: Request): (body: Uint8Array) => DecodedSpans {
  if (isProtobuf(request)) return decodeProtobuf;
  if (isJson(request)) return (body) => decodeJson(new TextDecoder().decode(body));
  const text = `Content-Type must be ${PROTOBUF} or application/json.`;
  throw new AppError("unsupported_media_type", text);
}

function toRuns(decoded: DecodedSpans, project: string | null): IncomingRun[] {
  const ids = new SpanIds();
  return decoded.spans.flatMap((span) => {
    try {
      return [toRun(span, ids, project)];
    } catch (error) {
      reject(decoded, error);
      return [];
    }
  });
}

/** Rejects the runs that name a project outside of the workspace, and returns the others. */
async function inOwnProjects(
  ctx: Context,
  runs: IncomingRun[],
  decoded: DecodedSpans,
): Promise<IncomingRun[]> {
  const foreign = new Map<string, unknown>();
  for (const id of new Set(runs.flatMap(({ session_id }) => session_id ?? []))) {
    await resolveProject(ctx, id).catch((error: unknown) => foreign.set(id, error));
  }
  return runs.filter(({ session_id }) => {
    const error = foreign.get(session_id ?? "");
    if (error !== undefined) reject(decoded, error);
    return error === undefined;
  });
}

/** Counts a span that is not valid, or whose project is not found. @throws other errors: they fail the whole request */
function reject(decoded: DecodedSpans, error: unknown): void {
  const failure = AppError.from(error);
  if (failure.code !== "invalid_request" && failure.code !== "not_found") throw error;
  rejectSpans(decoded, 1, failure.message);
}

/**
 * Moves runs behind their parents: a partition then places each run at once, and does not store that it waits. Start
 * times do not give this order, because clocks are coarse.
 */
function parentsFirst(runs: IncomingRun[]): IncomingRun[] {
  const byName = new Map<string, IncomingRun>();
  for (const run of runs)
    for (const name of [run.id, ...(run.span_ids ?? [])]) byName.set(name, run);
  const visited = new Set<IncomingRun>();
  return runs.flatMap((run) => {
    const path: IncomingRun[] = [];
    for (let one: IncomingRun | undefined = run; one !== undefined && !visited.has(one); ) {
      visited.add(one);
      path.push(one);
      one = byName.get(one.columns.parent_run_id ?? "");
    }
    return path.reverse();
  });
}
