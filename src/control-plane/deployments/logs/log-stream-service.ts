import { assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { Heartbeat, SSE_HEARTBEAT, toByteStream, toFrame } from "../../../shared/http/sse.ts";
import { nowMicros } from "../../../shared/times.ts";
import { findRevision } from "../rows.ts";
import type { RevisionPath } from "../schema.ts";
import { agentLog, type NewLines } from "./agent-log.ts";
import { type LogFilter, toFilter } from "./log-filter.ts";
import { LogLine, type LogStreamQuery } from "./log-schema.ts";

const PAGE = 500;
/** Maximum reads of a connection, after which clients connect again. An invocation has 10,000 subrequests. */
const MAX_READS = 800;
const RETRY_MS = 500;

type LinesReader = (after: number, wait_ms: number) => Promise<NewLines>;

/**
 * Follows the lines that the agents of a revision print.
 * @returns `null` when the end of the time range has passed, and all of its lines that exist were received
 */
export async function streamAgentLogs(
  ctx: Context,
  path: RevisionPath,
  query: LogStreamQuery,
  last_event_id: string | undefined,
): Promise<ReadableStream | null> {
  assertMay(ctx, "read");
  await findRevision(ctx, path);
  const filter = toFilter({ ...query, order: "asc", limit: PAGE, offset: last_event_id ?? "0" });
  const read: LinesReader = (after, wait_ms) => {
    const log = agentLog(ctx.env, path.deployment_id);
    return log.listNew(path.revision_id, { ...filter, after }, wait_ms);
  };
  const first = await read(filter.after ?? 0, 0);
  if (isOver(filter, first) && first.lines.length === 0) return null;
  return toByteStream(framesOf(filter, first, read));
}

async function* framesOf(filter: LogFilter, first: NewLines, read: LinesReader) {
  const heartbeat = new Heartbeat(SSE_HEARTBEAT);
  // Sends a comment when there are no lines, so that the client receives the start of the response at once.
  yield framesOfLines(first) || SSE_HEARTBEAT.text;
  let page = first;
  for (let reads = 1; reads < MAX_READS && !isOver(filter, page); reads += 1) {
    const { after } = page;
    page = await read(after, heartbeat.remaining_ms).catch(async () => {
      // The object may have restarted, as for a new version of the Worker.
      await scheduler.wait(RETRY_MS);
      return { lines: [], after };
    });
    yield heartbeat.frame(framesOfLines(page));
  }
}

function isOver({ to_us }: LogFilter, { lines }: NewLines): boolean {
  return to_us !== null && to_us <= nowMicros() && lines.length < PAGE;
}

function framesOfLines({ lines }: NewLines): string {
  return lines
    .map((line) => {
      const data = JSON.stringify(LogLine.parse(line));
      return toFrame({ id: line.id, event: "log", data });
    })
    .join("");
}
