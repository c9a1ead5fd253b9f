import type { EventRow } from "./storage/events.ts";
import type { ThreadStore } from "./storage/store.ts";

// Proxies drop connections that are silent for long; clients count comments as signs of life.
const HEARTBEAT_MS = 5_000;
const KEEP_ALIVE_MS = 3_000;

/** Readers of the thread's runs. They are the only state that may vanish: a reader comes again. */
export class Followers {
  readonly #store: ThreadStore;
  readonly #isOver: (run_id: string) => boolean;
  readonly #waiting = new Set<() => void>();

  constructor(store: ThreadStore, isOver: (run_id: string) => boolean) {
    this.#store = store;
    this.#isOver = isOver;
  }

  wake() {
    for (const resume of this.#waiting) resume();
    this.#waiting.clear();
  }

  /** Server-sent events of a run: those after `after`, then what comes, until the run is over. */
  async *events(run_id: string, after: number, keeps: (event: string) => boolean) {
    for (;;) {
      const isOver = this.#isOver(run_id);
      const page = this.#page(run_id, after);
      after = page.at(-1)?.id ?? after;
      const frames = page.filter(({ event }) => keeps(event)).map(toFrame);
      if (frames.length > 0) yield frames.join("");
      if (page.length > 0) continue;
      if (isOver) return;
      if (!(await this.#change(HEARTBEAT_MS))) yield ": heartbeat\n\n";
    }
  }

  #page(run_id: string, after: number): EventRow[] {
    return this.#store.exists ? this.#store.events.page(run_id, after) : [];
  }

  /** JSON of a run's result, behind newlines that keep the connection alive meanwhile. */
  async *result(run_id: string, read: () => string) {
    while (!this.#isOver(run_id)) {
      if (!(await this.#change(KEEP_ALIVE_MS))) yield "\n";
    }
    yield read();
  }

  /** Resolves once the run is over. */
  async over(run_id: string): Promise<void> {
    while (!this.#isOver(run_id)) await this.#change(HEARTBEAT_MS);
  }

  // True: something changed. False: nothing did for so long.
  #change(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const resume = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(resume);
        resolve(false);
      }, ms);
      this.#waiting.add(resume);
    });
  }
}

function toFrame({ id, event, data }: EventRow): string {
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
      const { done, value } = await chunks.next();
      if (done) {
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
