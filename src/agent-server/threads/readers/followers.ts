import { z } from "zod";
import type { EventRow } from "../log/events.ts";
import type { ThreadStore } from "../storage/store.ts";
import { Heartbeat, JSON_HEARTBEAT, SSE_HEARTBEAT } from "./heartbeat.ts";

/** Stands for all runs of the thread. */
const ANY = "";

/** Readers of the thread's runs. They are the only state that may vanish: a reader comes again. */
export class Followers {
  readonly #store: ThreadStore;
  readonly #isOver: (run_id: string) => boolean;
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(store: ThreadStore, isOver: (run_id: string) => boolean) {
    this.#store = store;
    this.#isOver = isOver;
  }

  /** Lets the readers of these runs look again; without a list, all. */
  wake(run_ids: Iterable<string> = [...this.#waiting.keys()]) {
    for (const run_id of run_ids) {
      const waiting = this.#waiting.get(run_id) ?? [];
      this.#waiting.delete(run_id);
      for (const resume of waiting) resume();
    }
    for (const resume of this.#waiting.get(ANY) ?? []) resume();
    this.#waiting.delete(ANY);
  }

  /** True: a run of the thread has something new to see. False: none has for so long. */
  changeOfAny(ms: number): Promise<boolean> {
    return this.#change(ANY, ms);
  }

  /**
   * Server-sent events of a run: those after `after`, then what comes, until the run is over. Their ids count
   * from 0 in each run.
   */
  async *events(run_id: string, after: number, keeps: (event: string) => boolean) {
    const pulse = new Heartbeat(SSE_HEARTBEAT);
    for (;;) {
      const isOver = this.#isOver(run_id);
      const page = this.#page(run_id, after);
      if (page.length === 0) {
        if (isOver) return;
        await this.#change(run_id, pulse.remaining_ms);
        yield pulse.frame("");
        continue;
      }
      // What is told must survive the next crash: write first.
      await this.#store.durable();
      after = page.at(-1)?.id ?? after;
      const frames = page.map((row) => (keeps(row.event) ? toFrame(row) : "")).join("");
      yield pulse.frame(frames);
    }
  }

  /** The last event by which the run has told of a checkpoint; -1: none of those that are kept. */
  eventOf(run_id: string, checkpoint_id: string): number {
    let found = -1;
    for (let page = this.#page(run_id, -1); page.length > 0; ) {
      found = page.findLast((row) => isOfCheckpoint(row, checkpoint_id))?.id ?? found;
      page = this.#page(run_id, page.at(-1)?.id ?? 0);
    }
    return found;
  }

  #page(run_id: string, after: number): EventRow[] {
    const { exists, runs, events } = this.#store;
    const first = exists ? runs.firstEvent(run_id) : null;
    if (first === null) return [];
    return events.page(run_id, first + after).map((row) => ({ ...row, id: row.id - first }));
  }

  /** JSON of a run's result, behind newlines that keep the connection alive meanwhile. */
  async *result(run_id: string, read: () => string) {
    const pulse = new Heartbeat(JSON_HEARTBEAT);
    while (!this.#isOver(run_id)) {
      await this.#change(run_id, pulse.remaining_ms);
      yield pulse.frame("");
    }
    const text = read();
    await this.#store.durable();
    yield text;
  }

  // True: something changed. False: nothing did for so long.
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

const CheckpointFields = z.object({
  checkpoint: z.object({ checkpoint_id: z.unknown().optional() }).nullish(),
  id: z.unknown().optional(),
});
const CheckpointEvent = CheckpointFields.extend({ payload: CheckpointFields.nullish() });

/** In the long form, in that of `debug`, and in the short form of the v2 protocol. */
function isOfCheckpoint({ event, data }: EventRow, checkpoint_id: string): boolean {
  if (!/^(checkpoints|debug)(\||$)/.test(event) || !data.includes(checkpoint_id)) return false;
  const { success, data: read } = CheckpointEvent.safeParse(JSON.parse(data));
  if (!success) return false;
  const { checkpoint, id } = read.payload ?? read;
  return (checkpoint?.checkpoint_id ?? id) === checkpoint_id;
}

export function toFrame({ id, event, data }: Omit<EventRow, "run_id">): string {
  return `event: ${event}\ndata: ${data}\nid: ${id}\n\n`;
}

/** A byte stream of what a generator yields. Leaving it ends the generator, then calls `onLeave`. */
export function toByteStream(
  chunks: AsyncGenerator<string, void>,
  onLeave: () => void = () => {},
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      let { done, value } = await chunks.next();
      // A byte stream takes no empty chunk: there is nothing to read yet.
      while (value === "") ({ done, value } = await chunks.next());
      if (done || value === undefined) {
        controller.close();
        controller.byobRequest?.respond(0);
      } else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      onLeave();
      await chunks.return();
    },
  });
}
