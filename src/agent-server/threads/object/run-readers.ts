import { toFrame } from "../../../shared/http/sse.ts";
import type { ResultKind, StreamChoice } from "../contract/records.ts";
import type { ThreadStreamChoice } from "../contract/thread-stream-modes.ts";
import type { EventRow } from "../events/event-row.ts";
import type { LiveThread } from "./live-thread.ts";
import { isOfCheckpoint } from "./readers/followers.ts";
import { type GraphOfRun, isLongGraph, noteRun } from "./readers/long-graphs.ts";
import { ThreadStream } from "./readers/thread-stream.ts";
import { eventFilter, resultText } from "./result.ts";

/** Maximum wait for the end of a run before a stream is returned. A stream over RPC costs more than this wait. */
const SHORT_MS = 20;
/** Longer texts are streamed: RPC copies a text as a whole. */
const MAX_SHORT_CHARACTERS = 256 * 1024;

/** Streams of runs and threads. A disconnect may cancel the run. */
export class RunReaders {
  readonly #thread: LiveThread;

  constructor(thread: LiveThread) {
    this.#thread = thread;
  }

  events(run_id: string, choice: StreamChoice): ReadableStream {
    const { after, checkpoint_id } = choice;
    const { followers, streams } = this.#thread;
    const checkpoint = checkpoint_id ? followers.eventOf(run_id, checkpoint_id) : -1;
    const frames = followers.events(run_id, Math.max(after, checkpoint), eventFilter(choice));
    return streams.open(frames, () => this.#onDisconnect(run_id, choice.cancel_on_disconnect));
  }

  /**
   * Returns the events of a run that ends within `SHORT_MS` as a text, else a stream. Does not wait for a long graph.
   */
  async stream(
    run_id: string,
    graph: GraphOfRun,
    choice: StreamChoice,
  ): Promise<string | ReadableStream> {
    const { followers, loop } = this.#thread;
    if (isLongGraph(graph) && !loop.isOver(run_id)) void this.#noteLength(run_id, graph);
    else if (await this.#isShort(run_id, graph)) {
      const text = await followers.text(run_id, eventFilter(choice), MAX_SHORT_CHARACTERS);
      if (text !== null) return text;
    }
    return this.events(run_id, choice);
  }

  /** Returns the events of a run whose thread has left its object. */
  endedEvents(events: EventRow[], choice: StreamChoice): ReadableStream {
    const { after, checkpoint_id } = choice;
    const skipped = checkpoint_id
      ? events.findLast((row) => isOfCheckpoint(row, checkpoint_id))
      : null;
    const keeps = eventFilter(choice);
    const since = Math.max(after, skipped?.id ?? -1);
    const wanted = events.filter(({ id, event }) => id > since && keeps(event));
    return new Blob([wanted.map(toFrame).join("")]).stream();
  }

  /** Returns the result of a run that ends within `SHORT_MS` as a text, unless it is long. Else returns a stream. */
  async wait(
    run_id: string,
    graph: GraphOfRun,
    kind: ResultKind,
    cancel_on_disconnect: boolean,
  ): Promise<string | ReadableStream> {
    if (await this.#isShort(run_id, graph)) {
      const { store } = this.#thread;
      const text = resultText(store, run_id, kind);
      await store.durable();
      if (text.length <= MAX_SHORT_CHARACTERS) return text;
    }
    return this.result(run_id, kind, cancel_on_disconnect);
  }

  async #isShort(run_id: string, graph: GraphOfRun): Promise<boolean> {
    const isShort = this.#thread.loop.isOver(run_id) || (await this.#noteLength(run_id, graph));
    this.#thread.assertWritten(run_id);
    return isShort;
  }

  /** Notes for the graph whether a run that is not over ends within `SHORT_MS`. @returns whether it does */
  async #noteLength(run_id: string, graph: GraphOfRun): Promise<boolean> {
    const isShort = await this.#thread.followers.isOverWithin(run_id, SHORT_MS);
    noteRun(graph, { isShort });
    return isShort;
  }

  result(run_id: string, kind: ResultKind, cancel_on_disconnect: boolean): ReadableStream {
    const { store, followers, streams } = this.#thread;
    const text = followers.result(run_id, () => resultText(store, run_id, kind));
    return streams.open(text, () => this.#onDisconnect(run_id, cancel_on_disconnect));
  }

  threadEvents(choice: ThreadStreamChoice): ReadableStream {
    const { store, followers, loop, streams } = this.#thread;
    const stream = new ThreadStream(store, followers, (run_id) => loop.isOver(run_id), choice);
    return streams.open(stream.frames());
  }

  #onDisconnect(run_id: string, cancels: boolean) {
    const { loop } = this.#thread;
    if (!cancels || loop.isOver(run_id)) return;
    void loop.cancel([run_id], "interrupt", "disconnect: its client left");
  }
}
