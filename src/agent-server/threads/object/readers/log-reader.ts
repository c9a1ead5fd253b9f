import { type Channel, type ProtocolEvent, RowEvents, rowOf } from "../../events/event.ts";
import type { EventRow } from "../../events/event-row.ts";
import type { AgentTree } from "../../events/namespaces.ts";
import { agentStatusOf } from "../../events/namespaces.ts";
import { RunEvents } from "../../events/run-events.ts";
import type { ThreadStore } from "../storage/store.ts";

type Current = { run_id: string; events: RunEvents; last: number };

/**
 * Derives protocol events after a sequence number from the log of runs. The same log always yields the same
 * events. Only the end of a run that was rolled back has the time of the read.
 */
export class LogReader {
  readonly #store: ThreadStore;
  readonly #isOver: (run_id: string) => boolean;
  readonly #wants: ReadonlySet<Channel>;
  #after: number;
  #since: number;
  #at = 0;
  #current: Current | null = null;

  constructor(
    store: ThreadStore,
    isOver: (run_id: string) => boolean,
    wants: ReadonlySet<Channel>,
    since: number,
  ) {
    this.#store = store;
    this.#isOver = isOver;
    this.#wants = wants;
    this.#since = since;
    // Events depend on the earlier events of their run, so a run is read from its beginning.
    this.#after = since <= 0 ? 0 : store.events.lastBeforeRunOf(rowOf(since));
  }

  /** Sequence number of the last event read. */
  get since(): number {
    return this.#since;
  }

  /** Whether the end of each run that was read was read too. */
  get isBetweenRuns(): boolean {
    return this.#current === null;
  }

  /** @returns the next events, `null` when no more are stored. More may follow an empty list. */
  next(): ProtocolEvent[] | null {
    const page = this.#store.events.pageOfAll(this.#after);
    const events = page.length > 0 ? page.flatMap((row) => this.#read(row)) : this.#rest();
    if (events === null) return null;
    const fresh = events.filter(({ seq }) => seq > this.#since);
    this.#since = fresh.at(-1)?.seq ?? this.#since;
    return fresh;
  }

  #read(row: EventRow): ProtocolEvent[] {
    const isFirst = this.#current?.run_id !== row.run_id;
    const before = isFirst ? this.#open(row) : [];
    this.#after = row.id;
    if (!isFirst) this.#at = row.at ?? this.#at;
    if (this.#current) this.#current.last = row.id;
    return [...before, ...(this.#current?.events.toProtocolEvents(row, this.#at) ?? [])];
  }

  /** The first event of a run is of its start, though a later batch may have written it. */
  #open({ id, run_id, at }: EventRow): ProtocolEvent[] {
    const ended = this.#end();
    const run = this.#store.runs.get(run_id);
    const { graph_id = "", kwargs } = run ?? {};
    const read = { run_id, graph_id, protocol: kwargs?.protocol };
    this.#at = run?.started_at ?? at ?? this.#at;
    this.#current = { run_id, events: new RunEvents(read, this.#wants), last: id };
    return ended;
  }

  #end(): ProtocolEvent[] {
    if (!this.#current) return [];
    const { run_id, events, last } = this.#current;
    this.#current = null;
    return events.end(this.#store.runs.get(run_id), last, this.#at);
  }

  #rest(): ProtocolEvent[] | null {
    if (this.#current) return this.#isOver(this.#current.run_id) ? this.#end() : null;
    return this.#rolledBack();
  }

  // Readers that received the start of a run that was rolled back must receive its end.
  #rolledBack(): ProtocolEvent[] | null {
    const { events, runs } = this.#store;
    const last = events.lastId();
    if (last <= this.#after) return null;
    this.#after = last;
    const isExpired = runs.newestStartedHasEvents() === false;
    if (isExpired || !runs.queue.isEmpty || !this.#wants.has("lifecycle")) return [];
    const rowEvents = new RowEvents(last, Date.now());
    const data = JSON.stringify({ event: "interrupted" });
    rowEvents.add("root_ended", { method: "lifecycle", namespace: [], data }, "undone");
    return rowEvents.inOrder();
  }
}

/** @returns the graphs and nodes of a run or of the newest run, `null` when the run does not exist */
export function treeOf({ runs, events }: ThreadStore, run_id: string | null): AgentTree | null {
  const run = run_id === null ? runs.newest() : runs.get(run_id);
  if (!run) return null;
  const log = new RunEvents(run, new Set(["lifecycle"]));
  let after = 0;
  for (let page = events.page(run.run_id, after); page.length > 0; ) {
    for (const row of page) log.toProtocolEvents(row, 0);
    after = page.at(-1)?.id ?? after;
    page = events.page(run.run_id, after);
  }
  return log.tree(agentStatusOf(run));
}
