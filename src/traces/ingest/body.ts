import { assertQuota, INGESTION_METERS } from "../../control-plane/quotas/quota-service.ts";
import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import {
  admitted,
  type ByteChunks,
  chunksOf,
  holdBody,
  joined,
  NOTHING,
} from "../../shared/http/body.ts";
import { malformedJson } from "../../shared/http/json-body.ts";
import { count, countUsage } from "../../shared/metrics/metrics.ts";
import type { Reserve } from "../../shared/work/memory-budget.ts";
import { type ExactJson, parseExact } from "../exact-json.ts";
import { ContainerBudget } from "../json.ts";
import { MAX_BODY_BYTES } from "../limits.ts";
import { assertTraceRate } from "../rates.ts";
import { unpackZstd } from "../zstd.ts";

/**
 * Checks a request of a client. Traces of agents that run here are stored without this check: a quota refuses the runs
 * of the agents instead.
 */
export async function assertMayIngest(ctx: Context): Promise<void> {
  assertMay(ctx, "write");
  assertTraceRate(ctx, "ingest");
  await assertQuota(ctx, INGESTION_METERS);
}

/** Calls `work` with the decoded body. Its bytes count against the memory budget of the isolate until the work ends. */
export function withBody<T>(
  { caller }: Pick<Context, "caller">,
  request: Request,
  work: (bytes: ByteChunks) => Promise<T>,
): Promise<T> {
  const { workspace_id } = caller;
  return holdBody((reserve) => work(counted(workspace_id, readBytes(request, reserve))));
}

async function* counted(workspace_id: string, chunks: ByteChunks): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      bytes += chunk.byteLength;
      yield chunk;
    }
  } finally {
    count("heddle_ingestion_bytes_total", {}, bytes);
    countUsage(workspace_id, "ingestion", { ingested_bytes: bytes });
  }
}

/** Yields the decoded body. @throws AppError 413 above `MAX_BODY_BYTES`, 415 for an unknown encoding */
async function* readBytes(request: Request, reserve: Reserve): AsyncGenerator<Uint8Array> {
  const encoding = request.headers.get("Content-Encoding")?.trim().toLowerCase() ?? "identity";
  const body = request.body ?? new Blob([]).stream();
  switch (encoding) {
    case "":
    case "identity":
      return yield* admitted(chunksOf(body), MAX_BODY_BYTES, reserve);
    case "gzip":
    case "deflate":
      return yield* unpacked(
        chunksOf(body.pipeThrough(new DecompressionStream(encoding))),
        encoding,
        reserve,
      );
    case "zstd":
      return yield* unpacked(
        unpackZstd(admitted(chunksOf(body), MAX_BODY_BYTES, NOTHING)),
        encoding,
        reserve,
      );
    default:
      throw new AppError(
        "unsupported_media_type",
        `Content-Encoding is "${encoding}"; use identity, gzip, deflate or zstd.`,
      );
  }
}

export async function readJson(bytes: ByteChunks): Promise<ExactJson> {
  const text = new TextDecoder().decode(await joined(bytes));
  return parseJson(text, new ContainerBudget());
}

/** @param what name of the text in errors */
export function parseJson(text: string, containers: ContainerBudget, what?: string): ExactJson {
  containers.spend(text);
  try {
    return parseExact(text);
  } catch (error) {
    throw malformedJson(error, what);
  }
}

async function* unpacked(
  chunks: ByteChunks,
  encoding: string,
  reserve: Reserve,
): AsyncGenerator<Uint8Array> {
  try {
    yield* admitted(chunks, MAX_BODY_BYTES, reserve);
  } catch (error) {
    if (error instanceof AppError) throw error;
    const text = `The body is not valid ${encoding}: it is truncated or corrupt.`;
    throw malformed(text, error);
  }
}

export function malformed(text: string, cause: unknown): AppError {
  return new AppError("bad_request", text, { cause });
}
