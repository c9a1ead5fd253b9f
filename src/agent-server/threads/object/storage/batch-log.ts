import type { Op } from "../../../../isolate/contract.ts";
import type { TraceOp } from "../../../../isolate/trace-contract.ts";
import { sizeOfEvent } from "../boundary/ops.ts";
import type { Events } from "../log/events.ts";
import type { ImpliedEvent } from "../log/implied-events.ts";
import type { RunQueue } from "./run-queue.ts";
import type { Runs } from "./runs.ts";
import type { Traces } from "./traces.ts";

type EventOp = Extract<Op, { op: "event" }>;
type Tables = { runs: Runs; events: Events; traces: Traces };

/**
 * Writes the events of a batch with the progress of its run. The same row carries the traces of the batch, if they fit.
 */
export class BatchLog {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /**
   * Adds the first event of an attempt. The event of the first attempt has no row until the next batch: the row of the
   * run implies it.
   */
  begin({ run_id, attempt }: { run_id: string; attempt: number }) {
    const event = beginOfAttempt(run_id, attempt);
    if (attempt > 1) return void this.#append(run_id, [event], []);
    const { runs, events } = this.#tables;
    const first_event = events.imply(run_id, event);
    runs.queue.patch(run_id, { first_event, event_characters: sizeOfEvent(event) });
  }

  /** Returns the characters of all events of the run, 0 for a batch without events. */
  append(run_id: string, ops: Op[]): number {
    const traces = ops.filter((op) => op.op === "trace");
    const events = ops.filter((op) => op.op === "event");
    if (events.length > 0) return this.#append(run_id, events, traces);
    if (traces.length > 0) this.#appendTraces(run_id, traces);
    return 0;
  }

  #append(run_id: string, batch: EventOp[], ops: TraceOp[]): number {
    const { runs, events, traces } = this.#tables;
    const first = events.lastId() + 1;
    const carried = traces.carry(run_id, ops, first + batch.length - 1);
    if (carried === null) traces.append(run_id, ops);
    const shared = events.share(batch);
    const total = runs.queue.addEvents(run_id, first, shared.characters);
    const progress = runs.queue.progress(run_id);
    events.append(run_id, shared, { traces: carried === null ? [] : [carried], progress });
    return total;
  }

  /** Traces without events join the newest row, if it is of the run and has room. */
  #appendTraces(run_id: string, ops: TraceOp[]) {
    const { runs, events, traces } = this.#tables;
    if (events.implied?.run_id === run_id) return void this.#append(run_id, [], ops);
    const newest = events.newestOf(run_id);
    const column = newest === null ? null : traces.extend(run_id, ops, newest);
    if (newest === null || column === null) return traces.append(run_id, ops);
    events.replaceCargo(newest, column, runs.queue.progress(run_id));
  }
}

/** Returns the first event of the running run, also when it has a row. @returns `null` after the first attempt */
export function impliedEvent(queue: RunQueue): ImpliedEvent | null {
  const rows = queue.inFlight().map((run_id) => queue.row(run_id));
  const row = rows.find((one) => one?.status === "running" && one.attempt === 1);
  if (!row || row.first_event === null) return null;
  return { ...beginOfAttempt(row.run_id, 1), id: row.first_event, run_id: row.run_id };
}

function beginOfAttempt(run_id: string, attempt: number): EventOp {
  return { op: "event", event: "metadata", data: JSON.stringify({ run_id, attempt }) };
}

/** Returns the last event of a run that failed. */
export function errorEvent({ error, message }: { error: string; message: string }): EventOp {
  return { op: "event", event: "error", data: JSON.stringify({ error, message }) };
}
