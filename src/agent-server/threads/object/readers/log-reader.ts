import { type Channel, type ProtocolEvent, RowEvents, rowOf } from "../../events/event.ts";
import type { EventRow } from "../../events/event-row.ts";
import { RunEvents } from "../../events/run-events.ts";
import type { ThreadStore } from "../storage/store.ts";

type CurrentRun = { run_id: string; events: RunEvents; lastRow: number };

/**
 * Derives protocol events after a sequence number from the log of runs. The same log yields the same events, except
 * that the end of a run that was rolled back has the time of the read.
 */
export class LogReader {
  readonly #store: ThreadStore;
  readonly #isRunOver: (run_id: string) => boolean;
  readonly #channels: ReadonlySet<Channel>;
  #afterRow: number;
  #lastSeq: number;
  #time = 0;
  #run: CurrentRun | null = null;

  constructor(
    store: ThreadStore,
    isRunOver: (run_id: string) => boolean,
    channels: ReadonlySet<Channel>,
    since: number,
  ) {
    this.#store = store;
    this.#isRunOver = isRunOver;
    this.#channels = channels;
    this.#lastSeq = since;
    // Events depend on the earlier events of their run, so a run is read from its beginning.
    this.#afterRow = since <= 0 ? 0 : store.events.lastBeforeRunOf(rowOf(since));
  }

  /** Sequence number of the last event read. */
  get since(): number {
    return this.#lastSeq;
  }

  /** Whether the reader has read the end of every run that it has begun. */
  get isBetweenRuns(): boolean {
    return this.#run === null;
  }

  /** @returns the next events, `null` when no more are stored. More may follow an empty list. */
  next(): ProtocolEvent[] | null {
    const page = this.#store.events.pageOfAll(this.#afterRow);
    const events = page.length > 0 ? page.flatMap((row) => this.#read(row)) : this.#endOfLog();
    if (events === null) return null;
    const fresh = events.filter(({ seq }) => seq > this.#lastSeq);
    this.#lastSeq = fresh.at(-1)?.seq ?? this.#lastSeq;
    return fresh;
  }

  #read(row: EventRow): ProtocolEvent[] {
    const isFirst = this.#run?.run_id !== row.run_id;
    const before = isFirst ? this.#beginRun(row) : [];
    this.#afterRow = row.id;
    if (!isFirst) this.#time = row.at ?? this.#time;
    if (this.#run) this.#run.lastRow = row.id;
    return [...before, ...(this.#run?.events.toProtocolEvents(row, this.#time) ?? [])];
  }

  /**
   * Begins a run, and returns the events that end the previous run. The first event of the new run has the time at
   * which that run started: a later batch may have written the event.
   */
  #beginRun({ id, run_id, at }: EventRow): ProtocolEvent[] {
    const ended = this.#endRun();
    const run = this.#store.runs.get(run_id);
    const { graph_id = "", kwargs } = run ?? {};
    const read = { run_id, graph_id, protocol: kwargs?.protocol };
    this.#time = run?.started_at ?? at ?? this.#time;
    this.#run = { run_id, events: new RunEvents(read, this.#channels), lastRow: id };
    return ended;
  }

  #endRun(): ProtocolEvent[] {
    if (!this.#run) return [];
    const { run_id, events, lastRow } = this.#run;
    this.#run = null;
    return events.end(this.#store.runs.get(run_id), lastRow, this.#time);
  }

  #endOfLog(): ProtocolEvent[] | null {
    if (this.#run) return this.#isRunOver(this.#run.run_id) ? this.#endRun() : null;
    return this.#endOfRolledBack();
  }

  /** Emits the end of a run that was rolled back, for readers that received its start. */
  #endOfRolledBack(): ProtocolEvent[] | null {
    const { events, runs } = this.#store;
    const last = events.lastId();
    if (last <= this.#afterRow) return null;
    this.#afterRow = last;
    // `false`: the last events of the log expired. No run was rolled back.
    const isExpired = runs.lastStartedHasEvents() === false;
    if (isExpired || !runs.queue.isEmpty || !this.#channels.has("lifecycle")) return [];
    const rowEvents = new RowEvents(last, Date.now());
    const data = JSON.stringify({ event: "interrupted" });
    rowEvents.add("root_ended", { method: "lifecycle", namespace: [], data }, "undone");
    return rowEvents.inOrder();
  }
}
