import { assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { decodeText, encodeText } from "../../../shared/crypto/encoding.ts";
import { AppError, invalid } from "../../../shared/errors.ts";
import { assertRate } from "../../../shared/http/rate-limit.ts";
import { mapConcurrent } from "../../../shared/work/chunks.ts";
import { openAgent } from "../../access/service.ts";
import {
  countWaiting,
  findWaiting,
  type WaitingPosition,
  type WaitingRow,
  waitingDeployments,
} from "../directory/waiting.ts";
import { threadObject } from "../object/stub.ts";
import { type InterruptsQuery, WaitingThreads } from "./inbox-schema.ts";

const READS = { name: "interrupts", calls: 300, in_s: 60 };
const AT_ONCE = 10;
const MAX_INTERRUPT_CHARS = 50_000;

/** Lists the interrupted threads of all deployments, the longest wait first. */
export async function listInterrupts(
  ctx: Context,
  query: InterruptsQuery,
): Promise<WaitingThreads> {
  assertMay(ctx, "read");
  assertRate(ctx, READS);
  const after = query.cursor === undefined ? null : readCursor(query.cursor);
  const waiting = await waitingDeployments(ctx);
  const open = await mapConcurrent(waiting, AT_ONCE, (id) => isOpen(ctx, id));
  const deployments = waiting.filter((_, n) => open[n]);
  const [rows, total] = await Promise.all([
    findWaiting(ctx, deployments, { after, limit: query.limit + 1 }),
    countWaiting(ctx, deployments),
  ]);
  const page = rows.slice(0, query.limit);
  const threads = await mapConcurrent(page, AT_ONCE, (row) => readThread(ctx, row));
  const last = page.at(-1);
  return WaitingThreads.parse({
    threads: threads.filter((thread) => thread !== null),
    total,
    next_cursor: last && rows.length > page.length ? writeCursor(last) : null,
    withheld_deployments: waiting.filter((_, n) => !open[n]),
  });
}

/** Members of the workspace may read threads of agents that do not authenticate users themselves. */
async function isOpen(ctx: Context, deployment_id: string): Promise<boolean> {
  try {
    await openAgent(ctx, deployment_id, "read");
    return true;
  } catch (error) {
    const { code } = AppError.from(error);
    if (code === "not_found" || code === "unavailable") return false;
    throw error;
  }
}

/** @returns `null` for a thread that was resumed since the directory was written */
async function readThread(ctx: Context, row: WaitingRow) {
  const { deployment_id, thread_id, metadata, state_updated_at } = row;
  const waiting = await threadObject(ctx.env, deployment_id, thread_id).getWaiting(
    MAX_INTERRUPT_CHARS,
  );
  if (waiting === null) return null;
  return { deployment_id, thread_id, metadata, waiting_since: state_updated_at, ...waiting };
}

function writeCursor({ state_updated_at, thread_id }: WaitingPosition): string {
  return encodeText(JSON.stringify([state_updated_at, thread_id]), "base64url");
}

function readCursor(text: string): WaitingPosition {
  const [state_updated_at, thread_id] = parse(text);
  if (typeof state_updated_at === "string" && typeof thread_id === "string") {
    return { state_updated_at, thread_id };
  }
  throw invalid(["query", "cursor"], "is invalid; send the cursor of the previous page, or none");
}

function parse(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(decodeText(text, "base64url"));
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
