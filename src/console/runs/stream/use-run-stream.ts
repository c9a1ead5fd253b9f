import { useEffect, useRef, useState } from "react";
import { call } from "../../api/client.ts";
import { follow } from "../../api/follow.ts";
import { useInvalidate, useWorkspaceId } from "../../api/hooks.ts";
import { under } from "../../api/path.ts";
import type { ServerSentEvent } from "../../api/sse.ts";
import type { LiveState } from "../../ui/live-pill.tsx";
import { type RunItem, threadPath } from "./agent.ts";
import { applyEvent, emptyLiveRun, type LiveRun } from "./live-run.ts";
import { isActive } from "./run-status.ts";

type Target = { deployment: string; thread_id: string | null; run_id: string | null };
export type RunStream = {
  live: LiveRun;
  state: LiveState;
  run_id: string | null;
  /** Time, in milliseconds since 1970, at which the page noticed the end of the run. */
  ended_at: number | null;
};

/** The page is drawn at most once in this time, however many events arrive. */
const FRAME_MS = 50;
const NO_STREAM: RunStream = { live: emptyLiveRun(), state: "live", run_id: null, ended_at: null };

/** Follows a run from its first event. A broken connection continues after the last event. */
export function useRunStream({ deployment, thread_id, run_id }: Target): RunStream {
  const workspace = useWorkspaceId();
  const invalidate = useRef(useInvalidate());
  const [stream, setStream] = useState<RunStream>(NO_STREAM);
  useEffect(() => {
    if (run_id === null || thread_id === null) return;
    const stop = new AbortController();
    const live = emptyLiveRun();
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
    const path = threadPath(deployment, thread_id)`/runs/${run_id}`;
    const onEnd = () => {
      if (stop.signal.aborted) return;
      clearTimeout(timer);
      show("live", Date.now());
      void invalidate.current(threadPath(deployment, thread_id)``);
    };
    const { signal } = stop;
    const isOver = async () => !isActive(await call<RunItem>(path, { workspace, signal }));
    const source = { path: under(path)`/stream`, workspace, signal, last: "-1", isOver };
    void follow({ ...source, onEvent, onFailure: () => show("off") }).then(onEnd);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [workspace, deployment, thread_id, run_id]);
  return stream;
}
