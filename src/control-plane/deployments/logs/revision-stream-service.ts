import { and, asc, eq, gt } from "drizzle-orm";
import { assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { sha256Hex } from "../../../shared/crypto/crypto.ts";
import { invalid } from "../../../shared/errors.ts";
import { Heartbeat, SSE_HEARTBEAT, toByteStream, toFrame } from "../../../shared/http/sse.ts";
import { inWorkspace } from "../../../shared/storage/sql.ts";
import { toRevision } from "../answers.ts";
import type { Revision } from "../revision-schema.ts";
import { isFinished } from "../revisions.ts";
import { findRevision, ownRevision, SHOWN_REVISION } from "../rows.ts";
import type { RevisionPath } from "../schema.ts";
import { revisions } from "../table.ts";
import { agentLog } from "./agent-log.ts";
import { LogLine } from "./log-schema.ts";
import { build_logs } from "./table.ts";

const PAGE = 500;
/** Maximum reads of a connection, after which clients connect again. Each one takes two of 10,000 subrequests. */
const MAX_READS = 400;
const RETRY_MS = 500;
const STATE_CHARACTERS = 16;

/** `line`: id of the last line sent. `state`: digest of the last revision sent, empty before the first. */
type StreamPosition = { line: number; state: string };
type StreamPage = StreamPosition & { frames: string; isFull: boolean; isOver: boolean };

/**
 * Follows a build from its stored rows: the revision each time that it changes, and the lines of its log.
 * @returns `null` when the build has ended and everything was sent before
 */
export async function streamRevision(
  ctx: Context,
  path: RevisionPath,
  last_event_id: string | undefined,
  origin: string,
): Promise<ReadableStream | null> {
  assertMay(ctx, "read");
  await findRevision(ctx, path);
  const read = (after: StreamPosition) => readPage(ctx, path, after, origin);
  const first = await read(toPosition(last_event_id));
  if (first.isOver && first.frames === "") return null;
  return toByteStream(framesOf(ctx, path.deployment_id, first, read));
}

async function* framesOf(
  ctx: Context,
  deployment_id: string,
  first: StreamPage,
  read: (after: StreamPosition) => Promise<StreamPage>,
) {
  const heartbeat = new Heartbeat(SSE_HEARTBEAT);
  let version: number | null = null;
  let page = first;
  for (let reads = 1; reads < MAX_READS; reads += 1) {
    yield heartbeat.frame(page.frames);
    if (page.isOver) return;
    // The first call has no version and returns at once. The rows are read again, so that no change is lost before it.
    if (!page.isFull) version = await nextVersion(ctx.env, deployment_id, version, heartbeat);
    page = await read(page);
  }
  yield heartbeat.frame(page.frames);
}

/** Waits for a change of a build. If the object fails, the rows are read again after `RETRY_MS`. */
async function nextVersion(
  env: Env,
  deployment_id: string,
  seen: number | null,
  { remaining_ms }: Heartbeat,
): Promise<number | null> {
  try {
    return await agentLog(env, deployment_id).waitForChange(seen, remaining_ms);
  } catch {
    await scheduler.wait(RETRY_MS);
    return null;
  }
}

async function readPage(
  ctx: Context,
  path: RevisionPath,
  after: StreamPosition,
  origin: string,
): Promise<StreamPage> {
  const { db, env, caller } = ctx;
  const [[row], lines] = await db.batch([
    db.select(SHOWN_REVISION).from(revisions).where(ownRevision(ctx, path)),
    db
      .select()
      .from(build_logs)
      .where(
        and(
          eq(build_logs.revision_id, path.revision_id),
          inWorkspace({ caller }, build_logs),
          gt(build_logs.id, after.line),
        ),
      )
      .orderBy(asc(build_logs.id))
      .limit(PAGE),
  ]);
  // The revision or its deployment was deleted.
  if (row === undefined) return { ...after, frames: "", isFull: false, isOver: true };
  return toPage(after, lines, toRevision(row, env, origin));
}

/** Sends the revision after all lines that were written before it, so that the end of the build is the last event. */
function toPage(
  after: StreamPosition,
  lines: (typeof build_logs.$inferSelect)[],
  revision: Revision,
): StreamPage {
  const isFull = lines.length === PAGE;
  const line = lines.at(-1)?.id ?? after.line;
  const logs = lines.map((row) => logFrame(row, after.state)).join("");
  if (isFull) return { line, state: after.state, frames: logs, isFull, isOver: false };
  const data = JSON.stringify(revision);
  const state = sha256Hex(data).slice(0, STATE_CHARACTERS);
  const id = toId({ line, state });
  const changed = state === after.state ? "" : toFrame({ id, event: "revision", data });
  return { line, state, frames: logs + changed, isFull, isOver: isFinished(revision.status) };
}

function logFrame({ id, ...row }: typeof build_logs.$inferSelect, state: string): string {
  const data = JSON.stringify(LogLine.parse({ ...row, id: String(id) }));
  return toFrame({ id: toId({ line: id, state }), event: "log", data });
}

function toId({ line, state }: StreamPosition): string {
  return `${line}-${state}`;
}

function toPosition(id: string | undefined): StreamPosition {
  if (id === undefined || id === "") return { line: 0, state: "" };
  const [, line, state] = /^(\d{1,15})-([0-9a-f]{0,16})$/.exec(id) ?? [];
  if (line !== undefined && state !== undefined) return { line: Number(line), state };
  throw invalid(["header", "Last-Event-ID"], "must be the id of an event of this stream");
}
