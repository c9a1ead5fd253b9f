import { useEffect, useRef, useState } from "react";
import { call, send } from "../../api/client.ts";
import { ApiError } from "../../api/errors.ts";
import { useInvalidate, useWorkspaceId } from "../../api/hooks.ts";
import { readEvents, type ServerSentEvent } from "../../api/sse.ts";
import type { LiveState } from "../../ui/live-pill.tsx";
import { type RunItem, threadPath } from "./agent.ts";
import { applyEvent, emptyLive, type LiveRun } from "./live.ts";
import { isActive } from "./run-status.ts";

type Target = { deployment: string; thread_id: string | null; run_id: string | null };
export type RunStream = {
  live: LiveRun;
  state: LiveState;
  run_id: string | null;
  /** Time at which the run was seen to end. */
  ended_at: number | null;
};

const MAX_FAILURES = 3;
const MAX_WAIT_MS = 10_000;
const FIRST_WAIT_MS = 500;
const FRAME_MS = 50;
const NO_STREAM: RunStream = { live: emptyLive(), state: "live", run_id: null, ended_at: null };

/** Follows a run from its first event. A broken connection continues after the last event. */
export function useRunStream({ deployment, thread_id, run_id }: Target): RunStream {
  const workspace = useWorkspaceId();
  const invalidate = useRef(useInvalidate());
  const [stream, setStream] = useState<RunStream>(NO_STREAM);
  useEffect(() => {
    if (run_id === null || thread_id === null) return;
    const stop = new AbortController();
    const live = emptyLive();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = (state: LiveState, ended_at: number | null = null) =>
      setStream({ live: { ...live }, state, run_id, ended_at });
    show("live");
    const onEvent = (event: ServerSentEvent) => {
      applyEvent(live, event);
      timer ??= setTimeout(() => {
        timer = undefined;
        show("live");
      }, FRAME_MS);
    };
    const path = threadPath(deployment, thread_id, `/runs/${run_id}`);
    const onEnd = () => {
      if (stop.signal.aborted) return;
      clearTimeout(timer);
      show("live", Date.now());
      void invalidate.current(threadPath(deployment, thread_id));
    };
    const { signal } = stop;
    void follow({ path, workspace, signal, onEvent, onFailure: () => show("off") }).then(onEnd);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [workspace, deployment, thread_id, run_id]);
  return stream;
}

type Follow = {
  /** Path of the run. */
  path: string;
  workspace: string;
  signal: AbortSignal;
  onEvent: (event: ServerSentEvent) => void;
  onFailure: () => void;
};

/** Resolves when the run has ended. */
async function follow(options: Follow): Promise<void> {
  const { signal, onEvent, onFailure } = options;
  let last = "-1";
  let failures = 0;
  const take = (event: ServerSentEvent) => {
    failures = 0;
    last = event.id ?? last;
    onEvent(event);
  };
  while (!signal.aborted) {
    const result = await readOnce(options, last, take).catch(resultOf);
    if (result === "over") return;
    failures += result === "broken" ? 1 : 0;
    if (failures === MAX_FAILURES) onFailure();
    await pause(Math.min(FIRST_WAIT_MS * 2 ** failures, MAX_WAIT_MS), signal);
  }
}

type Take = (event: ServerSentEvent) => void;

type Result = "over" | "cut" | "broken";

/** Reads until the stream ends. A proxy that restarts ends it like a run that has ended. */
async function readOnce(
  { path, workspace, signal }: Follow,
  last: string,
  take: Take,
): Promise<Result> {
  const headers = { "Last-Event-ID": last };
  const { body } = await send(`${path}/stream`, { workspace, signal, headers });
  if (body !== null) for await (const event of readEvents(body)) take(event);
  return isActive(await call<RunItem>(path, { workspace, signal })) ? "cut" : "over";
}

function resultOf(error: unknown): Result {
  const isRefusal = error instanceof ApiError && error.status < 500 && error.status !== 429;
  return isRefusal ? "over" : "broken";
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
