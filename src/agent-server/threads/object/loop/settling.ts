import type { ThreadSummary } from "../../../../isolate/contract.ts";
import { withTimeout } from "../../../../shared/work/timeout.ts";
import { callAgent } from "../../contract/agent-calls.ts";
import type { ThreadRecord } from "../../contract/records.ts";
import { threadStatusAfter } from "../../contract/run-decisions.ts";
import { parse, SummaryAnswer } from "../boundary/answers.ts";
import type { ThreadStore } from "../storage/store.ts";
import { toGraphCall } from "./graph-calls.ts";
import { ThreadHost } from "./thread-host.ts";

/** Maximum wait for the graph: readers of the thread must not wait for one that hangs while it is loaded. */
const SUMMARY_MS = 15_000;
/** Pauses after each failed read, such as one whose isolate was lost. */
const RETRY_MS = [200, 1_000, 3_000];
/**
 * Pauses after all reads with the shorter pauses have failed, as in an outage. The status stays, and readers do not
 * wait.
 */
const LATER_MS = [15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000];

/** Time after the end of a failed run in which `recover` reads its values: the sum of the pauses of `#postpone`. */
const READABLE_MS = LATER_MS.reduce((sum, ms) => sum + ms, 0);

/**
 * Reads the status and values of a thread from its last checkpoint, after a run has ended without a summary: it was
 * cancelled, deleted or ended by the server. Only the graph can read them.
 */
export class Settling {
  readonly #env: Env;
  readonly #store: ThreadStore;
  readonly #onChange: () => void;
  #pending: Promise<void> | undefined;
  /** Whether the values may be older than the checkpoints of a run that the server ended. */
  #isStale = false;
  #losses = 0;
  #laterTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(env: Env, store: ThreadStore, onChange: () => void) {
    this.#env = env;
    this.#store = store;
    this.#onChange = onChange;
  }

  get pending(): Promise<void> | undefined {
    return this.#pending;
  }

  get isPending(): boolean {
    return this.#pending !== undefined;
  }

  /** Whether a read is pending, or a failed read is to be repeated later. */
  get isUnfinished(): boolean {
    return this.isPending || this.#laterTimer !== undefined;
  }

  /** Called after a run has failed without a summary. Its checkpoints may be newer than the values of the thread. */
  refresh() {
    const { thread } = this.#store;
    this.#isStale = thread.outline().status === "error" && !thread.header().temporary;
    if (this.#isStale) this.start();
  }

  /** Called after a restart, which may have prevented the read that `refresh` or `start` began. */
  recover() {
    this.#isStale = this.#hasStaleValues();
    this.start();
  }

  /** Whether the last run failed at most `READABLE_MS` ago, and its checkpoints are newer than the thread's values. */
  #hasStaleValues(): boolean {
    const { thread, runs, checkpoints } = this.#store;
    if (thread.outline().status !== "error") return false;
    const run = runs.lastStarted();
    if (!run || Date.now() - (run.ended_at ?? 0) > READABLE_MS) return false;
    const isOlder = (thread.stateUpdatedAt() ?? 0) <= (run.started_at ?? 0);
    return isOlder && checkpoints.hasAnyOf(run.run_id, "");
  }

  /** Begins a read, if the thread needs one and none is pending. Replaces the timer of a later read. */
  start() {
    clearTimeout(this.#laterTimer);
    this.#laterTimer = undefined;
    if (!this.#isUnsettled()) return;
    this.#pending ??= this.#settle().finally(() => {
      this.#pending = undefined;
      if (this.#laterTimer === undefined) this.#isStale = false;
      this.#onChange();
    });
  }

  // After a rollback the restored status is still right, unless it is busy.
  #isUnsettled(): boolean {
    const { exists, runs, thread } = this.#store;
    if (!exists || !runs.queue.isEmpty || thread.endedAt() !== null) return false;
    return this.#isStale || thread.outline().status === "busy" || thread.header().temporary;
  }

  async #settle() {
    const { checkpoints, thread } = this.#store;
    let version: number;
    let answer: ThreadSummary | "lost" | null;
    do {
      version = checkpoints.version;
      answer = await withTimeout(this.#summarizeAgain(), SUMMARY_MS, () => "lost");
      if (!this.#isUnsettled()) {
        this.#losses = 0;
        return;
      }
      // Another run may have begun and ended in between: its state counts.
    } while (checkpoints.version !== version);
    if (answer === "lost" && this.#postpone()) return;
    this.#losses = 0;
    const summary = answer === "lost" ? null : answer;
    this.#store.transaction(() => {
      const error = this.#errorOf();
      const outcome = { failed: error !== null, next: summary?.next ?? [] };
      const isStopped = error === null && this.#isStopped(summary);
      thread.settle(threadStatusAfter(outcome, false), summary, { error, isStopped });
      if (thread.header().temporary) thread.markEnded();
    });
  }

  /** Schedules a later read. @returns `false` for a temporary thread, which ends at once, and after the last pause */
  #postpone(): boolean {
    const pause_ms = LATER_MS[this.#losses];
    if (pause_ms === undefined || this.#store.thread.header().temporary) return false;
    this.#losses += 1;
    this.#laterTimer = setTimeout(() => this.start(), pause_ms);
    return true;
  }

  /**
   * Returns the error that the thread keeps: that of the run that started last. A later run that never started does not
   * clear it.
   */
  #errorOf(): ThreadRecord["error"] {
    const { status, error } = this.#store.thread.failure();
    if (status === "error" || error === null) return error;
    return this.#store.runs.lastStarted()?.error ?? null;
  }

  /**
   * Whether the newest run was cancelled, and no interrupt of the agent is pending. A thread without runs counts as one
   * whose newest run was cancelled.
   */
  #isStopped(summary: ThreadSummary | null): boolean {
    const interrupts = Object.values(JSON.parse(summary?.interrupts ?? "{}") as object).flat();
    const { status = "interrupted" } = this.#store.runs.newest() ?? {};
    return interrupts.length === 0 && status === "interrupted";
  }

  /** Repeats a failed read: another call may have ended the isolate. @returns `"lost"` after the last try */
  async #summarizeAgain(): Promise<ThreadSummary | "lost" | null> {
    for (const pause_ms of RETRY_MS) {
      const summary = await this.#summarize().catch(() => "lost" as const);
      if (summary !== "lost") return summary;
      await scheduler.wait(pause_ms);
    }
    return "lost";
  }

  async #summarize(): Promise<ThreadSummary | null> {
    const { thread } = this.#store;
    const call = toGraphCall(thread.outline());
    const { revision } = thread.header();
    if (!call || !revision) return null;
    const host = new ThreadHost(this.#store, null);
    const sent = await callAgent(this.#env, revision, (agent) => agent.summarize(call, host));
    const answer = parse("summary", SummaryAnswer, sent);
    return answer.ok ? answer.value : null;
  }
}
