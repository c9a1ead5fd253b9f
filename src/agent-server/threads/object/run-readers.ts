import { toFrame } from "../../../shared/http/sse.ts";
import type { StreamChoice } from "../contract/records.ts";
import type { ThreadStreamChoice } from "../contract/thread-stream-modes.ts";
import type { EventRow } from "../events/event-row.ts";
import type { LiveThread } from "./live-thread.ts";
import type { RunLoop } from "./loop/run-loop.ts";
import { type Followers, isOfCheckpoint } from "./readers/followers.ts";
import type { OpenStreams } from "./readers/open-streams.ts";
import { ThreadStream } from "./readers/thread-stream.ts";
import { eventFilter, resultText } from "./result.ts";
import type { ThreadStore } from "./storage/store.ts";

/** A stream over RPC costs more than so short a wait, in which no client expects a byte. */
const SHORT_MS = 20;
/** RPC copies a text; a stream is passed on in pieces. */
const MAX_SHORT_CHARACTERS = 256 * 1024;

/** Streams of runs and threads. A disconnect may cancel the run. */
export class RunReaders {
  readonly #thread: LiveThread;
  readonly #store: ThreadStore;
  readonly #loop: RunLoop;
  readonly #followers: Followers;
  readonly #streams: OpenStreams;

  constructor(thread: LiveThread) {
    const { store, loop, followers, streams } = thread;
    this.#thread = thread;
    this.#store = store;
    this.#loop = loop;
    this.#followers = followers;
    this.#streams = streams;
  }

  events(run_id: string, choice: StreamChoice): ReadableStream {
    const { after, checkpoint_id } = choice;
    const checkpoint = checkpoint_id ? this.#followers.eventOf(run_id, checkpoint_id) : -1;
    const frames = this.#followers.events(run_id, Math.max(after, checkpoint), eventFilter(choice));
    return this.#streams.open(frames, () =>
      this.#onDisconnect(run_id, choice.cancel_on_disconnect),
    );
  }

  /** Returns the events of a run that ends at once, or a stream of them. */
  async stream(run_id: string, choice: StreamChoice): Promise<string | ReadableStream> {
    if (await this.#isShort(run_id)) {
      const text = await this.#followers.text(run_id, eventFilter(choice), MAX_SHORT_CHARACTERS);
      if (text !== null) return text;
    }
    return this.events(run_id, choice);
  }

  /** The events of a run whose thread has left its object. */
  ended(events: EventRow[], choice: StreamChoice): ReadableStream {
    const { after, checkpoint_id } = choice;
    const of = checkpoint_id ? events.findLast((row) => isOfCheckpoint(row, checkpoint_id)) : null;
    const keeps = eventFilter(choice);
    const since = Math.max(after, of?.id ?? -1);
    const wanted = events.filter(({ id, event }) => id > since && keeps(event));
    return new Blob([wanted.map(toFrame).join("")]).stream();
  }

  /** Returns the result of a run that ends at once, or a stream of it. */
  async wait(run_id: string, cancel_on_disconnect: boolean): Promise<string | ReadableStream> {
    if (await this.#isShort(run_id)) {
      const text = resultText(this.#store, run_id, "wait");
      await this.#store.durable();
      if (text.length <= MAX_SHORT_CHARACTERS) return text;
    }
    return this.result(run_id, "wait", cancel_on_disconnect);
  }

  async #isShort(run_id: string): Promise<boolean> {
    const isShort = await this.#followers.isOverWithin(run_id, SHORT_MS);
    this.#thread.writeDeferred();
    return isShort;
  }

  result(run_id: string, kind: "wait" | "join", cancel_on_disconnect: boolean): ReadableStream {
    const text = this.#followers.result(run_id, () => resultText(this.#store, run_id, kind));
    return this.#streams.open(text, () => this.#onDisconnect(run_id, cancel_on_disconnect));
  }

  all(choice: ThreadStreamChoice): ReadableStream {
    const isOver = (run_id: string) => this.#loop.isOver(run_id);
    const stream = new ThreadStream(this.#store, this.#followers, isOver, choice);
    return this.#streams.open(stream.frames());
  }

  #onDisconnect(run_id: string, cancels: boolean) {
    if (!cancels || this.#loop.isOver(run_id)) return;
    void this.#loop.cancel([run_id], "interrupt", "disconnect: its client left");
  }
}
