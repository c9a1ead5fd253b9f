import type { UseQueryResult } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useApiQuery, useInvalidate } from "../api/hooks.ts";
import { type ApiPath, under } from "../api/path.ts";
import { shortId } from "../ui/formats.ts";
import { interruptsOf } from "./interrupts/interrupts.ts";
import { type RunItem, type StateItem, type ThreadItem, threadPath } from "./stream/agent.ts";
import { isActive } from "./stream/run-status.ts";
import { type RunStream, useRunStream } from "./stream/use-run-stream.ts";

export type ThreadView = {
  deployment: string;
  /** `null` before the first run of a new thread. */
  thread_id: string | null;
  thread: UseQueryResult<ThreadItem>;
  state: UseQueryResult<StateItem>;
  runs: UseQueryResult<RunItem[]>;
  /** The newest `RUNS_SHOWN` runs, the oldest of them first. */
  inOrder: RunItem[];
  /** The run in progress, or the next one. */
  active: RunItem | null;
  stream: RunStream;
  /** The state of the run in progress, else the latest one. */
  values: unknown;
  isStreaming: boolean;
};

const POLL_MS = 2000;
const SLOW_POLL_MS = 10_000;
/** Number of runs that a page reads, the newest. */
export const RUNS_SHOWN = 50;

/** Names a run by its position when all runs of the thread are read, else by its id. */
export function runName(runs: RunItem[], run_id: string): string {
  const at = runs.findIndex((run) => run.run_id === run_id);
  const isKnown = at >= 0 && runs.length < RUNS_SHOWN;
  return isKnown ? `run ${at + 1}` : `run ${shortId(run_id)}`;
}

/**
 * Reads a thread and follows its runs, whichever client starts them.
 * @param replays whether the events of the last run are read when no run is in progress
 */
export function useThread(
  deployment: string,
  thread_id: string | null,
  { replays = false } = {},
): ThreadView {
  const path = thread_id === null ? null : threadPath(deployment, thread_id)``;
  const thread = useApiQuery<ThreadItem>(path, { poll: SLOW_POLL_MS });
  const state = useApiQuery<StateItem>(path && under(path)`/state`);
  const runs = useApiQuery<RunItem[]>(path && under(path)`/runs`, {
    query: { limit: RUNS_SHOWN },
    poll: POLL_MS,
  });
  const inOrder = (runs.data ?? []).toReversed();
  const active =
    inOrder.find(({ status }) => status === "running") ?? inOrder.find(isActive) ?? null;
  const followed = active ?? (replays ? inOrder.at(-1) : null);
  const stream = useRunStream({ deployment, thread_id, run_id: followed?.run_id ?? null });
  useReadAgain(inOrder, path);
  const isStreaming = useIsCurrent(stream, active, state.dataUpdatedAt);
  const live = isStreaming ? stream.live.values : undefined;
  const values = live === undefined ? state.data?.values : live;
  return {
    deployment,
    thread_id,
    thread,
    state,
    runs,
    inOrder,
    active,
    stream,
    values,
    isStreaming,
  };
}

/** Returns the questions that wait for a person. */
export function openQuestions({ state, runs, active, isStreaming }: ThreadView) {
  const isIdle = runs.data !== undefined && active === null && !isStreaming;
  return isIdle ? interruptsOf(state.data ?? {}) : [];
}

/** Whether the stream of a run is newer than the state: until the state is read after the end of the run. */
function useIsCurrent(stream: RunStream, active: RunItem | null, read_at: number): boolean {
  const followed = useRef<string | null>(null);
  if (active !== null) followed.current = active.run_id;
  if (stream.run_id === null || stream.run_id !== followed.current) return false;
  return stream.ended_at === null ? active !== null : read_at < stream.ended_at;
}

/** Reads the state and the history of the thread again when a run began or ended. */
function useReadAgain(runs: RunItem[], path: ApiPath | null): void {
  const invalidate = useRef(useInvalidate());
  const signature = runs.map(({ run_id, status }) => `${run_id} ${status}`).join();
  const former = useRef<string | null>(null);
  useEffect(() => {
    if (signature === "") return;
    // Also the first time: the state may have been read before the runs were.
    if (former.current === signature) return;
    former.current = signature;
    for (const rest of ["/state", "/history"]) void invalidate.current(`${path}${rest}`);
  }, [signature, path]);
}
