import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import {
  deleteShareLink,
  findOrCreateShareToken,
  findShareToken,
  shareUrl,
} from "../links/share-links.ts";
import { findRun } from "../query/run-service.ts";
import { assertTraceRate } from "../rates.ts";
import type { TraceShare } from "./share-schema.ts";

/** Shares the whole trace of a run, also when the run is not the root. */
export async function createShare(
  ctx: Context,
  run_id: string,
  origin: string,
): Promise<TraceShare> {
  const trace = await traceOf(ctx, run_id, "write");
  return toShare(ctx, trace.trace_id, origin, await findOrCreateShareToken(ctx, trace));
}

/** @returns `null` when the trace is not shared. */
export async function getShare(
  ctx: Context,
  run_id: string,
  origin: string,
): Promise<TraceShare | null> {
  const { trace_id } = await traceOf(ctx, run_id, "read");
  const token = await findShareToken(ctx, trace_id);
  return token === null ? null : toShare(ctx, trace_id, origin, token);
}

/** Has no effect on a trace that is not shared. */
export async function deleteShare(ctx: Context, run_id: string): Promise<void> {
  const { trace_id } = await traceOf(ctx, run_id, "write");
  await deleteShareLink(ctx, trace_id);
}

async function traceOf(ctx: Context, run_id: string, right: "read" | "write") {
  assertMay(ctx, right);
  assertTraceRate(ctx, "read");
  const { row, partition } = await findRun(ctx, run_id, ["id", "trace_id"]);
  return { trace_id: row.trace_id, project_id: partition.project_id };
}

function toShare(ctx: Context, run_id: string, origin: string, share_token: string): TraceShare {
  return { run_id, share_token, url: shareUrl(ctx.env, origin, share_token) };
}
