import type { TypedResponse } from "hono";
import { STREAM_MODES } from "../../../isolate/contract.ts";
import { invalid } from "../../../shared/errors.ts";
import type { RunTarget, StreamChoice } from "../contract/records.ts";
import { THREAD_STREAM_MODES, type ThreadStreamChoice } from "../contract/thread-stream-modes.ts";

type RunIds = { thread_id: string; run_id: string };
type TargetHeaders = { "idempotency-key"?: string | undefined; "if-match"?: string | undefined };

export function toTarget(
  { deployment_id, thread_id }: { deployment_id: string; thread_id?: string },
  request: Request,
  { "idempotency-key": idempotency_key, "if-match": after_run_id }: TargetHeaders = {},
): RunTarget {
  return {
    idempotency_key,
    after_run_id,
    deployment_id,
    thread_id: thread_id ?? null,
    headers: Object.fromEntries(request.headers),
    origin: new URL(request.url).origin,
  };
}

/**
 * Returns the headers of a response about a run. Clients read the run's id from the end of `Content-Location`, and
 * reconnect to `Location`. Both are paths below the deployment's URL. `location`: last segment of `Location`.
 */
export function runHeaders({ thread_id, run_id }: RunIds, location = "stream") {
  const path = `/threads/${thread_id}/runs/${run_id}`;
  return { "Content-Location": path, Location: `${path}/${location}` };
}

export function threadlessRunHeaders({ run_id }: Pick<RunIds, "run_id">, location = "stream") {
  return { "Content-Location": `/runs/${run_id}`, Location: `/runs/${run_id}/${location}` };
}

/** Returns the last segment of `Location` for a stream, with the query of the request. */
export function streamLocation(request: Request): string {
  return `stream${new URL(request.url).search}`;
}

/** Returns a JSON response. `body`: JSON text of the route's response type, after any number of newlines. */
export function valuesResponse(
  body: string | ReadableStream,
  headers: Record<string, string> = {},
) {
  const response = new Response(body, {
    // A proxy that compresses would hold back the newlines that keep the connection alive.
    headers: { "Content-Type": "application/json", "Content-Encoding": "identity", ...headers },
  });
  return response as Response & TypedResponse<never, 200, "json">;
}

export function toStream(body: string | ReadableStream): ReadableStream {
  return typeof body === "string" ? new Blob([body]).stream() : body;
}

export function toFollow(
  query: {
    cancel_on_disconnect: boolean;
    stream_mode?: string | string[] | undefined;
    namespace?: string | string[] | undefined;
    checkpoint_id?: string | undefined;
  },
  headers: { "last-event-id"?: string | undefined },
): StreamChoice {
  const modes = toModes(query.stream_mode);
  assertNames("stream_mode", modes, STREAM_MODES);
  return {
    after: Number(headers["last-event-id"] || "-1"),
    modes: modes.length > 0 ? modes : null,
    namespaces: toNamespaces(query.namespace),
    cancel_on_disconnect: query.cancel_on_disconnect,
    checkpoint_id: query.checkpoint_id,
  };
}

/** @returns `null` for all namespaces. The empty namespace is the root graph. */
export function toNamespaces(namespace: string | string[] | undefined): string[] | null {
  return namespace === undefined ? null : toList(namespace);
}

/**
 * Returns the choice of a thread's stream: without Last-Event-ID new events only, with `-` or -1 all stored events and
 * new ones, with an id the events after it.
 */
export function toThreadFollow(
  query: {
    stream_mode?: string | string[] | undefined;
    stream_modes?: string | string[] | undefined;
  },
  headers: { "last-event-id"?: string | undefined },
): ThreadStreamChoice {
  const id = headers["last-event-id"];
  const wanted = [...toModes(query.stream_mode), ...toModes(query.stream_modes)];
  const modes = THREAD_STREAM_MODES.filter((mode) => wanted.includes(mode));
  assertNames("stream_mode", wanted, THREAD_STREAM_MODES);
  return {
    after: id ? Math.max(Number(id) || 0, 0) : null,
    modes: modes.length > 0 ? modes : ["run_modes"],
  };
}

/** The Python SDK sends `stream_mode=` for no mode. */
function toModes(value: string | string[] | undefined): string[] {
  return toList(value).filter((mode) => mode !== "");
}

/** @throws AppError for a name in the query parameter that is not one of `allowed` */
export function assertNames(parameter: string, names: string[], allowed: readonly string[]): void {
  const unknown = names.find((name) => !allowed.includes(name));
  if (unknown === undefined) return;
  throw invalid(["query", parameter], `"${unknown}" is not one of ${allowed.join(", ")}`);
}

/** Reads a list in a query: newer clients repeat the key, older ones send one JSON list. */
export function toList(value: string | string[] | undefined): string[] {
  return [value ?? []].flat().flatMap((text) => {
    return text.startsWith("[") ? parseNames(text) : [text];
  });
}

function parseNames(text: string): string[] {
  try {
    const parsed: unknown = JSON.parse(text);
    if (Array.isArray(parsed) && parsed.every((name) => typeof name === "string")) return parsed;
  } catch {
    // Falls through to the error below, like JSON that is not a list of names.
  }
  throw invalid(["query"], `"${text}" must be a name or a JSON list of names`);
}
