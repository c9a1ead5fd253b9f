import { type CallOptions, send } from "./client.ts";
import { ApiError } from "./errors.ts";
import type { ApiPath } from "./path.ts";
import { readEvents, type ServerSentEvent } from "./sse.ts";

type Follow = {
  /** Path of a stream whose events have ids. */
  path: ApiPath;
  query?: CallOptions["query"];
  workspace: string;
  signal: AbortSignal;
  /** `Last-Event-ID` of the first connection. */
  last?: string | undefined;
  /**
   * Called when a stream ends, to distinguish an ended run from a proxy that restarts. Without it, only the status 204
   * is the end.
   */
  isOver?: () => Promise<boolean>;
  /** Called for each connection, before its first event. */
  onOpen?: () => void;
  onEvent: (event: ServerSentEvent) => void;
  /** Called when `MAX_FAILURES` connections have failed without an event between them. The attempts continue. */
  onFailure: () => void;
};

/** `over`: the stream has ended. `cut`: the connection ended, and the stream may not. `broken`: a failure. */
type Result = "over" | "cut" | "broken" | ApiError;

const MAX_FAILURES = 3;
const MAX_WAIT_MS = 10_000;
const FIRST_WAIT_MS = 500;

/**
 * Follows a stream. Continues after its last event when a connection breaks.
 * @returns a refusal (a status from 400 to 499, except 429), or `null` when the stream ended or `signal` was aborted
 */
export async function follow(options: Follow): Promise<ApiError | null> {
  const { signal, onEvent, onFailure } = options;
  let { last } = options;
  let failures = 0;
  const receive = (event: ServerSentEvent) => {
    failures = 0;
    last = event.id ?? last;
    onEvent(event);
  };
  while (!signal.aborted) {
    const result = await readOnce(options, last, receive).catch(resultOf);
    if (result instanceof ApiError) return result;
    if (result === "over") return null;
    failures += result === "broken" ? 1 : 0;
    if (failures === MAX_FAILURES) onFailure();
    await pause(Math.min(FIRST_WAIT_MS * 2 ** failures, MAX_WAIT_MS), signal);
  }
  return null;
}

async function readOnce(
  { path, query, workspace, signal, isOver, onOpen }: Follow,
  last: string | undefined,
  receive: (event: ServerSentEvent) => void,
): Promise<Result> {
  const headers: Record<string, string> = last === undefined ? {} : { "Last-Event-ID": last };
  const { status, body } = await send(path, {
    workspace,
    signal,
    headers,
    ...(query && { query }),
  });
  onOpen?.();
  if (status === 204) return "over";
  if (body !== null) for await (const event of readEvents(body)) receive(event);
  return (await isOver?.()) ? "over" : "cut";
}

function resultOf(error: unknown): Result {
  const isRefusal = error instanceof ApiError && error.status < 500 && error.status !== 429;
  return isRefusal ? error : "broken";
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
