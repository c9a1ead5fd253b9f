import { dayOf } from "../../shared/times.ts";
import type { RunChange } from "../changes.ts";
import { toDottedOrder } from "../dotted-order.ts";
import type { RunView } from "../rows/run-view.ts";
import type { ChangeBatch } from "./change-batch.ts";
import { type FarParent, hasRows } from "./far-parents.ts";
import { placeRun } from "./runs.ts";

type Parent = { id: string; trace_id: string; dotted_order: string };
/** A run as the parent of others, by one of its ids. */
export type NamedParent = Parent & { name: string };
type Link = { run_id: string; trace_id: string; dotted_order: string | null };

/**
 * Number of levels, about, of a trace whose spans get a dotted order: a level adds its characters to each span below
 * it.
 */
const MAX_LEVELS = 100;
/** Characters of a level, rounded up: a time of 22, an id of 36, and a dot. */
const LEVEL_CHARS = 60;

/**
 * Places spans in their traces in whatever order they arrive: a span gets its dotted order as soon
 * as all runs above it are stored. Works inside the caller's transaction.
 */
export class SpanLinks {
  readonly #sql: SqlStorage;
  readonly #batch: ChangeBatch;
  #hasWaiting: boolean;
  /** Runs of this batch with a dotted order, by each id that children may name. */
  readonly #parents = new Map<string, Parent>();
  /** Links that one statement writes for the whole batch. */
  readonly #links = new Map<string, Link>();

  constructor(sql: SqlStorage, batch: ChangeBatch) {
    this.#sql = sql;
    this.#batch = batch;
    this.#hasWaiting = hasRows(sql, "waiting_spans");
  }

  /** Returns the change with the trace, parent and dotted order of its run, when its parent has a dotted order. */
  place(change: RunChange): RunChange {
    const { parent_run_id, dotted_order } = change.columns;
    if (change.span_ids === undefined || parent_run_id === undefined) return change;
    if (dotted_order !== undefined) return change;
    const parent = this.#findParent(parent_run_id);
    const start_us = change.columns.start_us ?? 0;
    return {
      ...change,
      columns: { ...change.columns, ...columnsBelow(parent, change.id, start_us) },
    };
  }

  /** Records what later spans need. Places the spans that wait for this run, or makes the run wait for its parent. */
  settle(change: RunChange): void {
    const { id, columns, span_ids } = change;
    if (span_ids === undefined && !this.#hasWaiting) return;
    this.#remember(change);
    if (this.#isSettled(change)) return;
    const stored = this.#batch.find(id);
    if (!stored) return;
    if (span_ids !== undefined) this.#record(change, stored.trace_id);
    for (const other of span_ids ?? []) this.#rename(other, id);
    if (stored.dotted_order !== null)
      this.#release({ id, trace_id: stored.trace_id, dotted_order: stored.dotted_order });
    else if (columns.parent_run_id !== undefined) this.#wait(columns.parent_run_id, id);
  }

  #remember({ id, columns: { trace_id, dotted_order }, span_ids = [] }: RunChange): void {
    if (trace_id === undefined || dotted_order === undefined) return;
    for (const name of [id, ...span_ids]) this.#parents.set(name, { id, trace_id, dotted_order });
  }

  /** Whether a span has its dotted order, and no other span can need more than its row. */
  #isSettled({ columns, span_ids }: RunChange): boolean {
    const { start_us = 0, end_us = start_us, dotted_order } = columns;
    if (span_ids?.length !== 0 || dotted_order === undefined || this.#hasWaiting) return false;
    return dayOf(end_us) <= dayOf(start_us);
  }

  /** Records runs of earlier days, and places the spans that wait for them. */
  addFarParents(parents: FarParent[]): void {
    for (const { id, trace_id, dotted_order, span_ids } of parents) {
      for (const name of [id, ...span_ids])
        this.#links.set(name, { run_id: id, trace_id, dotted_order });
      for (const name of span_ids) this.#rename(name, id);
      this.#release({ id, trace_id, dotted_order });
    }
  }

  #record({ id, columns, span_ids = [] }: RunChange, trace_id: string): void {
    const { start_us = 0, end_us = start_us } = columns;
    for (const name of span_ids)
      this.#links.set(name, { run_id: id, trace_id, dotted_order: null });
    if (dayOf(end_us) <= dayOf(start_us)) return;
    this.#sql.exec(
      "INSERT OR REPLACE INTO long_spans (trace_id, run_id, span_ids) VALUES (?, ?, ?)",
      trace_id,
      id,
      JSON.stringify(span_ids),
    );
  }

  write(): void {
    if (this.#links.size === 0) return;
    const rows = [...this.#links].map(([id, link]) => [
      id,
      link.run_id,
      link.trace_id,
      link.dotted_order,
    ]);
    this.#sql.exec(
      `INSERT OR REPLACE INTO span_parents (id, run_id, trace_id, dotted_order)
       SELECT value->>0, value->>1, value->>2, value->>3 FROM json_each(?)`,
      JSON.stringify(rows),
    );
  }

  #wait(parent_id: string, id: string): void {
    const { run_id = parent_id } = this.#findLink(parent_id) ?? {};
    this.#sql.exec("INSERT OR IGNORE INTO waiting_spans VALUES (?, ?)", run_id, id);
    this.#hasWaiting = true;
  }

  /** Makes the spans that wait for another id of a run wait for the run's own id. */
  #rename(name: string, run_id: string): void {
    if (!this.#hasWaiting) return;
    this.#sql.exec("UPDATE waiting_spans SET parent_id = ? WHERE parent_id = ?", run_id, name);
  }

  /** Places the spans that wait for the run, then those that wait for them. */
  #release(run: Parent): void {
    const parents = this.#hasWaiting ? [run] : [];
    for (let parent = parents.pop(); parent !== undefined; parent = parents.pop()) {
      for (const id of this.#takeWaiting(parent.id)) {
        const dotted_order = this.#placeStored(id, parent);
        if (dotted_order === undefined) continue;
        parents.push({ id, trace_id: parent.trace_id, dotted_order });
      }
    }
  }

  #placeStored(id: string, parent: Parent): string | undefined {
    const run = this.#batch.find(id);
    if (run === null) return undefined;
    const { dotted_order } = columnsBelow(parent, id, run.start_us);
    const refs = { trace_id: parent.trace_id, parent_run_id: parent.id };
    this.#batch.put(
      placeRun(run, { ...refs, dotted_order: dotted_order ?? null }, this.#batch.seq),
    );
    return dotted_order;
  }

  #takeWaiting(parent_id: string): string[] {
    const ids = this.#sql
      .exec<{ run_id: string }>("SELECT run_id FROM waiting_spans WHERE parent_id = ?", parent_id)
      .toArray()
      .map(({ run_id }) => run_id);
    if (ids.length > 0) this.#sql.exec("DELETE FROM waiting_spans WHERE parent_id = ?", parent_id);
    return ids;
  }

  #findParent(id: string): Parent | null {
    const inBatch = this.#parents.get(id);
    if (inBatch !== undefined) return inBatch;
    const link = this.#findLink(id);
    if (link?.dotted_order != null)
      return { ...link, id: link.run_id, dotted_order: link.dotted_order };
    const run = this.#batch.find(link?.run_id ?? id);
    if (run === null || run.dotted_order === null) return null;
    return { id: run.id, trace_id: run.trace_id, dotted_order: run.dotted_order };
  }

  #findLink(id: string): Link | null {
    return this.#links.get(id) ?? readLink(this.#sql, id);
  }
}

function readLink(sql: SqlStorage, id: string): Link | null {
  const [link] = sql
    .exec<Link>("SELECT run_id, trace_id, dotted_order FROM span_parents WHERE id = ?", id)
    .toArray();
  return link ?? null;
}

/** Returns the named runs that are stored and have a dotted order. A name is any id of a run. */
export function findParents(
  sql: SqlStorage,
  { byId }: { byId(id: string): Pick<RunView, keyof Parent> | null },
  names: string[],
): NamedParent[] {
  return names.flatMap((name) => {
    const run = byId(readLink(sql, name)?.run_id ?? name);
    if (run === null || run.dotted_order === null) return [];
    return [{ name, id: run.id, trace_id: run.trace_id, dotted_order: run.dotted_order }];
  });
}

/** Returns the columns of a run below a parent: none without a parent, and no dotted order when the run is too deep. */
function columnsBelow(parent: Parent | null, id: string, start_us: number): RunChange["columns"] {
  if (parent === null) return {};
  const columns = { trace_id: parent.trace_id, parent_run_id: parent.id };
  if (parent.dotted_order.length > MAX_LEVELS * LEVEL_CHARS) return columns;
  return { ...columns, dotted_order: `${parent.dotted_order}.${toDottedOrder(start_us, id)}` };
}

/** Deletes the links of deleted traces, and the waiting entries of deleted runs. @param run_ids JSON array */
export function deleteLinks(sql: SqlStorage, trace_ids: string[], run_ids: string): void {
  const traces = JSON.stringify(trace_ids);
  for (const table of ["span_parents", "long_spans"]) {
    sql.exec(`DELETE FROM ${table} WHERE trace_id IN (SELECT value FROM json_each(?))`, traces);
  }
  sql.exec("DELETE FROM waiting_spans WHERE run_id IN (SELECT value FROM json_each(?))", run_ids);
}
