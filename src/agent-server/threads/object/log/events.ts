import type { EventRow } from "../../events/event-row.ts";
import type { CarriedTraces } from "./carried-traces.ts";
import {
  type Cargo,
  EventBatches,
  type NewEvent,
  type SharedEvents,
  type StoredBatch,
} from "./event-batches.ts";
import { type ImpliedEvent, ImpliedEvents } from "./implied-events.ts";
import type { ThreadTables } from "./lazy-tables.ts";
import type { Parts } from "./parts.ts";

// Limits of one page: an isolate of 128 MB may serve many readers.
const PAGE_ROWS = 256;
const PAGE_CHARACTERS = 512 * 1024;

const NO_CARGO: Cargo = { traces: [], progress: null };

const COLUMNS = "last_id, run_id, count, events, at";

/**
 * The event log of all runs. Ids grow over the whole life of the thread. A row is a batch of events. Its key is the id
 * of its last event.
 */
export class Events {
  readonly #sql: SqlStorage;
  readonly #batches: EventBatches;
  readonly #implied: ImpliedEvents;
  /** Greatest id of a row. */
  #last: number | null = null;
  /** The run of the newest row. `null` when this object has not written the row since the cache was cleared. */
  #newestRun: string | null = null;
  /** The run of the oldest row, `null` without rows, `undefined` before it is read. */
  #oldestRun: string | null | undefined;

  /** `readImplied` returns the event that the row of the running run implies, also when the event has a row. */
  constructor(
    tables: ThreadTables,
    parts: Parts,
    carried: CarriedTraces,
    readImplied: () => ImpliedEvent | null,
  ) {
    this.#sql = tables.sql;
    this.#batches = new EventBatches(tables, parts, carried);
    this.#implied = new ImpliedEvents(readImplied);
  }

  share(events: NewEvent[]): SharedEvents {
    return this.#batches.share(events);
  }

  append(run_id: string, { stored }: SharedEvents, cargo: Cargo) {
    const own = this.implied?.run_id === run_id ? this.implied : null;
    if (own === null) this.#writeImplied();
    const first = own?.id ?? this.#lastRow() + 1;
    const batch = own === null ? stored : this.share([own]).stored.concat(stored);
    this.#implied.set(null);
    this.#last = this.#batches.insert(run_id, first, batch, cargo);
    this.#newestRun = run_id;
    if (this.#oldestRun === null) this.#oldestRun = run_id;
  }

  /** Adds an event that the row of its run implies from now on. @returns its id */
  imply(run_id: string, event: NewEvent): number {
    this.#writeImplied();
    const id = this.lastId() + 1;
    this.#implied.set({ ...event, id, run_id });
    return id;
  }

  /** The event that has no row. Read before changes of its run, which would hide it after a restart. */
  get implied(): ImpliedEvent | null {
    return this.#implied.after(() => this.#lastRow());
  }

  /** Writes the implied event at the end of a transaction after which its run is not running. */
  flush(isRunning: (run_id: string) => boolean) {
    const { known } = this.#implied;
    if (known && !isRunning(known.run_id)) this.#writeImplied();
  }

  #writeImplied() {
    const { implied } = this;
    if (implied) this.append(implied.run_id, { stored: [], characters: 0 }, NO_CARGO);
  }

  /** Returns the id of the newest row. @returns `null` when the row may be of another run */
  newestOf(run_id: string): number | null {
    return this.#newestRun === run_id ? this.#lastRow() : null;
  }

  replaceCargo(last_id: number, traces: Uint8Array, progress: string | null) {
    const update = "UPDATE events SET traces = ?, progress = ? WHERE last_id = ?";
    this.#sql.exec(update, traces, progress, last_id);
  }

  /** Greatest id ever assigned, also when its event was deleted. */
  lastId(): number {
    return this.implied?.id ?? this.#lastRow();
  }

  #lastRow(): number {
    this.#last ??= this.#sql
      .exec<{ last: number }>("SELECT coalesce(max(last_id), 0) AS last FROM events")
      .one().last;
    return this.#last;
  }

  /** Skips the first read: the tables are empty. */
  startEmpty() {
    this.#implied.set(null);
    this.#last = 0;
    this.#oldestRun = null;
  }

  /** Drops the cache after a failed transaction, whose changes it may hold. */
  clearCache() {
    this.#implied.clear();
    this.#last = null;
    this.#newestRun = null;
    this.#oldestRun = undefined;
    this.#batches.clearCache();
  }

  /** The run of the oldest event, `null` without events. Of the runs with events it ends first: runs do not overlap. */
  get oldestRun(): string | null {
    if (this.#oldestRun === undefined) this.#oldestRun = this.#readOldestRun();
    return this.#oldestRun ?? this.implied?.run_id ?? null;
  }

  #readOldestRun(): string | null {
    const [oldest] = this.#sql
      .exec<Pick<StoredBatch, "run_id">>(
        "SELECT run_id FROM events WHERE count > 0 ORDER BY last_id LIMIT 1",
      )
      .toArray();
    return oldest?.run_id ?? null;
  }

  /** Returns events of a run after the id `after`, oldest first. Empty when no more are stored. */
  page(run_id: string, after: number): EventRow[] {
    if (after >= this.lastId()) return [];
    const isOfRun = this.implied?.run_id === run_id;
    return this.#page(after, isOfRun, "run_id = ?", run_id);
  }

  /**
   * Returns the data of the run's last event with a name. Reads only the newest rows, without the implied event.
   * @returns `null` when the run has none, `undefined` when only older rows may have one
   */
  newestNamed(run_id: string, event: string): string | null | undefined {
    const batches = this.#sql.exec<StoredBatch>(
      `SELECT ${COLUMNS} FROM events WHERE run_id = ? ORDER BY last_id DESC LIMIT ?`,
      run_id,
      PAGE_ROWS,
    );
    let rows = 0;
    for (const batch of batches) {
      const named = [...this.#batches.read(batch, 0)].filter((row) => row.event === event);
      const newest = named.at(-1);
      if (newest) return newest.data;
      rows += 1;
    }
    return rows < PAGE_ROWS ? null : undefined;
  }

  /** Returns events of all runs after the id `after`, oldest first. Empty when no more are stored. */
  pageOfAll(after: number): EventRow[] {
    return after >= this.lastId() ? [] : this.#page(after, true, "count > 0");
  }

  /** Returns the run of an event. @returns `null` when the event was deleted or does not exist */
  runOf(id: number): string | null {
    if (this.implied?.id === id) return this.implied.run_id;
    const [batch] = this.#sql
      .exec<Pick<StoredBatch, "last_id" | "run_id" | "count">>(
        "SELECT last_id, run_id, count FROM events WHERE last_id >= ? ORDER BY last_id LIMIT 1",
        id,
      )
      .toArray();
    return batch && id > batch.last_id - batch.count ? batch.run_id : null;
  }

  /**
   * Returns the id of the last event before the run of an event, 0 when that is the first run, and `id` itself when its
   * event was deleted.
   */
  lastBeforeRunOf(id: number): number {
    const run_id = this.runOf(id);
    if (run_id === null) return id;
    const [last] = this.#sql
      .exec<{ last_id: number }>(
        "SELECT last_id FROM events WHERE last_id < ? AND run_id <> ? ORDER BY last_id DESC LIMIT 1",
        id,
        run_id,
      )
      .toArray();
    return last?.last_id ?? 0;
  }

  #page(after: number, hasImplied: boolean, condition: string, ...values: string[]): EventRow[] {
    const batches = this.#sql.exec<StoredBatch>(
      `SELECT ${COLUMNS} FROM events WHERE last_id > ? AND ${condition} ORDER BY last_id`,
      after,
      ...values,
    );
    const page: EventRow[] = [];
    let characters = 0;
    for (const batch of batches) {
      for (const row of this.#batches.read(batch, after)) {
        page.push(row);
        characters += row.data.length;
        if (characters > PAGE_CHARACTERS || page.length === PAGE_ROWS) return page;
      }
    }
    const implied = hasImplied ? this.implied : null;
    if (implied && implied.id > after) page.push({ ...implied, at: null });
    return page;
  }

  /** Deletes the segments that only deleted events used. */
  dropUnused() {
    this.#batches.dropUnused();
  }

  /**
   * Deletes the events of a run.
   * @returns whether segments may be unused now: `dropUnused`, a full scan, deletes them
   */
  deleteOf(run_id: string): boolean {
    // The row keeps the id of the implied event, which must not be assigned again.
    if (this.implied?.run_id === run_id) this.#writeImplied();
    this.#oldestRun = undefined;
    this.#newestRun = null;
    return this.#batches.deleteOf(run_id, this.lastId());
  }
}
