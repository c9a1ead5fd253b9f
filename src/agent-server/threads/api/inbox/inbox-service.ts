import { deploymentIds } from "../../../../control-plane/deployments/api/list-service.ts";
import { assertMay } from "../../../../shared/auth.ts";
import type { Context } from "../../../../shared/context.ts";
import { invalid } from "../../../../shared/errors.ts";
import { decodeCursor, encodeCursor } from "../../../../shared/http/cursor.ts";
import { assertRate } from "../../../../shared/http/rate-limit.ts";
import { mapConcurrent } from "../../../../shared/work/chunks.ts";
import { isAgentReadable } from "../../../access/service.ts";
import type { WaitingPosition } from "../../directory/search.ts";
import { findWaiting, mergeWaiting, type WaitingRow } from "../../directory/waiting.ts";
import { threadObject } from "../../object/stub.ts";
import { type InterruptsQuery, MAX_INTERRUPT_CHARS, WaitingThreads } from "./inbox-schema.ts";

const READS = { name: "interrupts", calls: 300, in_s: 60 };
const AT_ONCE = 10;
/** Limits the directories that a request reads. */
const MAX_DEPLOYMENTS = 500;

/** Lists the threads that wait for a person, the longest wait first, in the newest 500 deployments of the workspace. */
export async function listInterrupts(
  ctx: Context,
  query: InterruptsQuery,
): Promise<WaitingThreads> {
  assertMay(ctx, "read");
  assertRate(ctx, READS);
  const after = query.cursor === undefined ? null : readCursor(query.cursor);
  const page = { after, limit: query.limit + 1 };
  const waiting = await findWaiting(ctx, await deploymentIds(ctx, MAX_DEPLOYMENTS), page);
  const isReadable = await mapConcurrent(waiting, AT_ONCE, ({ deployment_id }) =>
    isAgentReadable(ctx, deployment_id),
  );
  const readable = waiting.filter((_, n) => isReadable[n]);
  const rows = mergeWaiting(readable, page.limit);
  const shown = rows.slice(0, query.limit);
  const threads = await mapConcurrent(shown, AT_ONCE, (row) => readThread(ctx, row));
  const last = shown.at(-1);
  return WaitingThreads.parse({
    threads: threads.filter((thread) => thread !== null),
    total: readable.reduce((sum, { total }) => sum + total, 0),
    next_cursor: last && rows.length > shown.length ? writeCursor(last) : null,
    withheld_deployments: waiting
      .filter((_, n) => !isReadable[n])
      .map(({ deployment_id }) => deployment_id),
  });
}

/** @returns `null` for a thread that was resumed, or deleted, since the directory was read */
async function readThread(ctx: Context, row: WaitingRow) {
  const { deployment_id, thread_id, state_updated_at } = row;
  const waiting = await threadObject(ctx.env, deployment_id, thread_id).getWaiting(
    MAX_INTERRUPT_CHARS,
  );
  if (waiting === null) return null;
  return { deployment_id, thread_id, waiting_since: state_updated_at, ...waiting };
}

function writeCursor({ state_updated_at, thread_id }: WaitingPosition): string {
  return encodeCursor({ s: state_updated_at, i: thread_id });
}

function readCursor(text: string): WaitingPosition {
  const { s: state_updated_at, i: thread_id } = decodeCursor(text);
  if (typeof state_updated_at === "string" && typeof thread_id === "string") {
    return { state_updated_at, thread_id };
  }
  throw invalid(["query", "cursor"], "is invalid; send the cursor of the previous page, or none");
}
