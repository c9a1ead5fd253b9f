import { toIso, toMicros } from "../../../src/shared/times.ts";
import { toDottedOrder } from "../../../src/traces/dotted-order.ts";

const BATCH = 4000;
const BATCH_CHARACTERS = 10_000_000;

export type SpanSeed = {
  name: string;
  run_type?: string;
  /** Position of the parent in the list; none for the root. */
  parent?: number;
  /** Milliseconds from the start of the trace; without `end` the span runs. */
  start: number;
  end?: number;
  /** Other fields of the run, such as `outputs` and `error`. */
  more?: Record<string, unknown>;
};

export type WireSpan = Record<string, unknown> & { id: string };

/** The runs of a trace as an SDK sends them. */
export function toWireSpans(session_name: string, started_at: Date, seeds: SpanSeed[]): WireSpan[] {
  const started_us = toMicros(started_at.toISOString()) ?? 0;
  const orders: string[] = [];
  const spans: WireSpan[] = [];
  for (const { name, run_type = "chain", parent, start, end, more } of seeds) {
    const id = crypto.randomUUID();
    const start_us = started_us + Math.round(start * 1000);
    const own = toDottedOrder(start_us, id);
    const order = parent === undefined ? own : `${orders[parent]}.${own}`;
    orders.push(order);
    spans.push({
      id,
      trace_id: spans[0]?.id ?? id,
      ...(parent !== undefined && { parent_run_id: spans[parent]?.id }),
      dotted_order: order,
      session_name,
      name,
      run_type,
      start_time: toIso(start_us),
      ...(end !== undefined && { end_time: toIso(started_us + Math.round(end * 1000)) }),
      inputs: {},
      ...more,
    });
  }
  return spans;
}

/** A trace of many spans: steps with calls of models and tools, a part of which failed. */
export function manySpans(count: number): SpanSeed[] {
  const spans = Array.from({ length: count - 1 }, (_, index) =>
    (index % 10 === 0 ? stepSpan : callSpan)(index + 1),
  );
  return [{ name: "agent", start: 0, end: count * 10 }, ...spans];
}

function stepSpan(n: number): SpanSeed {
  return { name: `step ${n}`, parent: 0, start: n * 10, end: n * 10 + 100 };
}

function callSpan(n: number): SpanSeed {
  const kind = n % 3 === 0 ? "llm" : "tool";
  const more = { error: "TimeoutError: no answer in 9 ms\n  at call" };
  return {
    name: `${kind === "llm" ? "model" : "tool"} ${n}`,
    run_type: kind,
    parent: n - ((n - 1) % 10),
    start: n * 10,
    end: n * 10 + 9,
    ...(n % 1000 === 998 && { more }),
  };
}

type Send = (path: string, body: unknown) => Promise<{ status: number; body: unknown }>;

/** Sends new runs; `send` posts JSON to the service. */
export async function sendSpans(send: Send, spans: WireSpan[]): Promise<void> {
  for (const post of batchesOf(spans)) {
    const { status, body } = await send("/runs/batch", { post, patch: [] });
    if (status !== 202) throw new Error(`${status} ${JSON.stringify(body).slice(0, 500)}`);
  }
}

/** A body has at most 24 MiB. */
function* batchesOf(spans: WireSpan[]): Generator<WireSpan[]> {
  let batch: WireSpan[] = [];
  let characters = 0;
  for (const span of spans) {
    const size = JSON.stringify(span).length;
    if (batch.length === BATCH || (batch.length > 0 && characters + size > BATCH_CHARACTERS)) {
      yield batch;
      [batch, characters] = [[], 0];
    }
    batch.push(span);
    characters += size;
  }
  if (batch.length > 0) yield batch;
}
