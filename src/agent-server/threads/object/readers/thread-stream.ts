import { Heartbeat, SSE_HEARTBEAT, toFrame } from "../../../../shared/http/sse.ts";
import type { RunStatus } from "../../contract/run-decisions.ts";
import type { ThreadStreamChoice, ThreadStreamMode } from "../../contract/thread-stream-modes.ts";
import type { EventRow } from "../../events/event-row.ts";
import type { ThreadStore } from "../storage/store.ts";
import type { Followers } from "./followers.ts";

const LIFECYCLE: Record<RunStatus, string> = {
  pending: "running",
  running: "running",
  success: "completed",
  error: "failed",
  timeout: "failed",
  interrupted: "interrupted",
};

type StreamPosition = { after: number; run_id: string | null };

/**
 * Server-sent events of all runs of a thread, until it is deleted or the run of a temporary one has ended. Lifecycle
 * events are derived from the log, and have the id of the row before them: a client that reconnects with its last id may
 * receive the end of a run again, and misses none.
 */
export class ThreadStream {
  readonly #store: ThreadStore;
  readonly #followers: Followers;
  /** Whether a run has ended, and the thread's state was read after it. */
  readonly #isOver: (run_id: string) => boolean;
  readonly #modes: ReadonlySet<ThreadStreamMode>;
  readonly #threadId: string;
  #position: StreamPosition;

  constructor(
    store: ThreadStore,
    followers: Followers,
    isOver: (run_id: string) => boolean,
    { after, modes }: ThreadStreamChoice,
  ) {
    this.#store = store;
    this.#followers = followers;
    this.#isOver = isOver;
    this.#modes = new Set(modes);
    this.#threadId = store.thread.id;
    this.#position = this.#startPosition(after);
  }

  async *frames() {
    const heartbeat = new Heartbeat(SSE_HEARTBEAT);
    while (this.#store.has(this.#threadId)) {
      const page = this.#store.events.pageOfAll(this.#position.after);
      const { frames, ...next } = page.length > 0 ? this.#framesOf(page) : this.#end();
      this.#position = next;
      if (frames !== "") await this.#store.durable();
      else if (page.length === 0) {
        if (this.#hasEnded) return;
        await this.#followers.changeOfAny(heartbeat.remaining_ms);
      }
      yield heartbeat.frame(frames);
    }
  }

  /** Whether the run of a temporary thread has ended, and its last events were read. */
  get #hasEnded(): boolean {
    return this.#position.run_id === null && this.#store.thread.endedAt() !== null;
  }

  #startPosition(after: number | null): StreamPosition {
    const { events, runs } = this.#store;
    if (after === null) {
      return { after: events.lastId(), run_id: runs.queue.running()?.run_id ?? null };
    }
    return { after, run_id: events.runOf(after) };
  }

  #framesOf(page: EventRow[]): StreamPosition & { frames: string } {
    let frames = "";
    let { after, run_id } = this.#position;
    for (const row of page) {
      if (run_id !== null && row.run_id !== run_id) frames += this.#lifecycleEnd(run_id, after);
      run_id = row.run_id;
      if (row.event === "metadata") frames += this.#lifecycle(run_id, "running", after);
      after = row.id;
      if (this.#modes.has("run_modes")) frames += toFrame(row);
    }
    return { frames, after, run_id };
  }

  #end(): StreamPosition & { frames: string } {
    const { after, run_id } = this.#position;
    if (run_id === null || !this.#isOver(run_id)) return { after, run_id, frames: "" };
    const frames = this.#lifecycleEnd(run_id, after) + this.#stateUpdate(run_id, after);
    return { after, run_id: null, frames };
  }

  #lifecycleEnd(run_id: string, id: number): string {
    const run = this.#store.runs.get(run_id);
    return this.#lifecycle(run_id, LIFECYCLE[run?.status ?? "interrupted"], id);
  }

  #lifecycle(run_id: string, event: string, id: number): string {
    if (!this.#modes.has("lifecycle")) return "";
    return derivedFrame("lifecycle", { event, run_id }, id);
  }

  #stateUpdate(run_id: string, id: number): string {
    if (!this.#modes.has("state_update")) return "";
    const { values, status, interrupts } = this.#store.thread.record();
    return derivedFrame("state_update", { run_id, status, values, interrupts }, id);
  }
}

function derivedFrame(event: string, data: object, id: number): string {
  return toFrame({ id, event, data: JSON.stringify(data) });
}
