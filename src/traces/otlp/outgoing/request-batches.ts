import type { Context } from "../../../shared/context.ts";
import type { JsonObject } from "../../json.ts";
import { findPage } from "../../query/query-service.ts";
import { encodeSpans } from "./encode.ts";
import { SPAN_FIELDS, toSpan } from "./from-run.ts";

const FIELDS = ["id", "trace_id", "name", "run_type", "start_time", ...SPAN_FIELDS];
const PAGE = 100;
/** Limit of a request: receivers accept at least so much. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Yields the bodies of the requests that send a stored trace, one page of runs in memory. */
export async function* requestBodies(
  ctx: Context,
  trace_id: string,
  resource: Record<string, string>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let cursor: string | undefined;
  do {
    const query = { trace: trace_id, select: FIELDS, limit: PAGE, order: "asc" as const, cursor };
    const { runs, next } = await findPage(ctx, query);
    yield* split(runs, new Map(Object.entries(resource)));
    cursor = next ?? undefined;
  } while (cursor !== undefined);
}

/** Halves pages that are too large. A run that is too large by itself is sent alone. */
function* split(
  runs: JsonObject[],
  resource: Map<string, unknown>,
): Generator<Uint8Array<ArrayBuffer>> {
  if (runs.length === 0) return;
  const body = encodeSpans(resource, "heddle", runs.map(toSpan));
  if (body.byteLength <= MAX_BYTES || runs.length === 1) {
    yield body;
    return;
  }
  const half = Math.ceil(runs.length / 2);
  yield* split(runs.slice(0, half), resource);
  yield* split(runs.slice(half), resource);
}
