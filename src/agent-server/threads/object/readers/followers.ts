import { z } from "zod";
import { Heartbeat, JSON_HEARTBEAT, SSE_HEARTBEAT, toFrame } from "../../../../shared/http/sse.ts";
import type { EventRow } from "../../events/event-row.ts";
import type { ThreadStore } from "../storage/store.ts";

/** Key of the readers of all runs. */
const ANY = "";

/** Waiting readers, in memory only: readers reconnect after a restart. */
export class Followers {
  readonly #store: ThreadStore;
  readonly #isOver: (run_id: string) => boolean;
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(store: ThreadStore, isOver: (run_id: string) => boolean) {
    this.#store = store;
    this.#isOver = isOver;
  }

  /** Wakes the readers of these runs, or of all without a list, and those that wait for any change. */
  wake(run_ids: Iterable<string> = [...this.#waiting.keys()]) {
    for (const run_id of run_ids) {
      const waiting = this.#waiting.get(run_id) ?? [];
      this.#waiting.delete(run_id);
      for (const resume of waiting) resume();
    }
    for (const resume of this.#waiting.get(ANY) ?? []) resume();
    this.#waiting.delete(ANY);
  }

  /** @returns `false` when no run changed within the time */
  changeOfAny(ms: number): Promise<boolean> {
    return this.#change(ANY, ms);
  }

  /** @returns `false` when the run is not over within the time */
  async isOverWithin(run_id: string, ms: number): Promise<boolean> {
    const deadline = Date.now() + ms;
    while (!this.#isOver(run_id)) {
      const left = deadline - Date.now();
      if (left <= 0 || !(await this.#change(run_id, left))) return this.#isOver(run_id);
    }
    return true;
  }

  /**
   * Yields server-sent events of a run after an id, until the run has ended. Ids count from 0 in each run.
   */
  async *events(run_id: string, after: number, keeps: (event: string) => boolean) {
    const heartbeat = new Heartbeat(SSE_HEARTBEAT);
    for (;;) {
      const isOver = this.#isOver(run_id);
      const page = this.#page(run_id, after);
      if (page.length === 0) {
        if (isOver) return;
        await this.#change(run_id, heartbeat.remaining_ms);
        yield heartbeat.frame("");
        continue;
      }
      // Events must be durable before a client receives them.
      await this.#store.durable();
      after = page.at(-1)?.id ?? after;
      yield heartbeat.frame(framesOf(page, keeps));
    }
  }

  /**
   * Returns all events of a run that is over.
   * @returns `null` when they are more than a page, or than `max` characters
   */
  async text(run_id: string, keeps: (event: string) => boolean, max: number) {
    const page = this.#page(run_id, -1);
    if (this.#page(run_id, page.at(-1)?.id ?? -1).length > 0) return null;
    await this.#store.durable();
    const frames = framesOf(page, keeps);
    return frames.length > max ? null : frames;
  }

  /** @returns the id of the last event of a checkpoint, -1 without one */
  eventOf(run_id: string, checkpoint_id: string): number {
    let found = -1;
    for (let page = this.#page(run_id, -1); page.length > 0; ) {
      found = page.findLast((row) => isOfCheckpoint(row, checkpoint_id))?.id ?? found;
      page = this.#page(run_id, page.at(-1)?.id ?? 0);
    }
    return found;
  }

  /**
   * Returns whether events of the run contain the ids of all these interrupts. Reads the events once, and lets other work
   * go first between their pages: a run may have a gigabyte of them.
   */
  async hasEmitted(run_id: string, interrupt_ids: readonly string[]): Promise<boolean> {
    const missing = new Set(interrupt_ids.map((id) => JSON.stringify(id)));
    if (missing.size === 0) return true;
    for (let page = this.#page(run_id, -1); page.length > 0; ) {
      for (const quoted of missing) {
        if (page.some(({ data }) => data.includes(quoted))) missing.delete(quoted);
      }
      if (missing.size === 0) return true;
      await scheduler.wait(0);
      page = this.#page(run_id, page.at(-1)?.id ?? 0);
    }
    return false;
  }

  #page(run_id: string, after: number): EventRow[] {
    const { exists, runs, events } = this.#store;
    const first = exists ? runs.firstEvent(run_id) : null;
    if (first === null) return [];
    return events.page(run_id, first + after).map((row) => ({ ...row, id: row.id - first }));
  }

  /** Yields newlines that keep the connection alive, then the JSON of the result. */
  async *result(run_id: string, read: () => string) {
    const heartbeat = new Heartbeat(JSON_HEARTBEAT);
    while (!this.#isOver(run_id)) {
      await this.#change(run_id, heartbeat.remaining_ms);
      yield heartbeat.frame("");
    }
    const text = read();
    await this.#store.durable();
    yield text;
  }

  #change(run_id: string, ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(run_id) ?? new Set();
      const resume = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        waiting.delete(resume);
        resolve(false);
      }, ms);
      this.#waiting.set(run_id, waiting.add(resume));
    });
  }
}

function framesOf(page: EventRow[], keeps: (event: string) => boolean): string {
  return page.map((row) => (keeps(row.event) ? toFrame(row) : "")).join("");
}

const CheckpointFields = z.object({
  checkpoint: z.object({ checkpoint_id: z.unknown().optional() }).nullish(),
  id: z.unknown().optional(),
});
const CheckpointEvent = CheckpointFields.extend({ payload: CheckpointFields.nullish() });

/** Matches the form of `checkpoints`, the form of `debug`, and the short form of the v2 protocol. */
export function isOfCheckpoint({ event, data }: EventRow, checkpoint_id: string): boolean {
  if (!/^(checkpoints|debug)(\||$)/.test(event) || !data.includes(checkpoint_id)) return false;
  const { success, data: read } = CheckpointEvent.safeParse(JSON.parse(data));
  if (!success) return false;
  const { checkpoint, id } = read.payload ?? read;
  return (checkpoint?.checkpoint_id ?? id) === checkpoint_id;
}
