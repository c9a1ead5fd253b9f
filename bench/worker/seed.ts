import type { IncomingRun, RunChange } from "../../src/traces/changes.ts";
import { toIncoming } from "../../src/traces/ingest/incoming.ts";
import { traceRow } from "../rows.ts";
import { type SeededDays, startOfRun } from "../seeded-days.ts";

const FEW = 10_000;
const RARE = 1_000_000;

/**
 * Returns the nth of many small runs. Half are of the environment `prod`, one in 10,000 of each user and with the tag
 * `rare`, one in a million of the release `canary`. One in 50 failed, one in 100,000 has the word Reykjavik.
 */
export function seedRun(n: number, seeded: SeededDays, session_id: string): IncomingRun {
  const start = startOfRun(n, seeded);
  const time = start.toString(16).padStart(12, "0");
  const id = `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`;
  const order = new Date(start).toISOString().replace(/[-:.Z]/g, "");
  const place = n % 100_000 === 77 ? "Reykjavik" : "the city of the request";
  const run = {
    ...{ id, trace_id: id, dotted_order: `${order}000Z${id}`, session_id },
    ...{ name: "step", run_type: "chain", start_time: start, end_time: start + 40 },
    inputs: { question: `What is the weather in ${place}?`, session: crypto.randomUUID() },
    outputs: {
      answer: "It is as it was yesterday, and so it will be.",
      proof: crypto.randomUUID(),
    },
    error: n % 50 === 3 ? "TimeoutError: the tool did not answer" : null,
    extra: {
      metadata: {
        user_id: `u${n % FEW}`,
        env: n % 2 === 0 ? "prod" : "dev",
        release: n % RARE === RARE / 2 ? "canary" : "stable",
      },
    },
    tags: n % FEW === 7 ? ["rare", "bench"] : ["bench"],
    // The days are fixed: short-lived runs would expire.
    trace_tier: "longlived",
  };
  return toIncoming(run, "post", []);
}

/** Returns a row of `rows.ts` as an ingested run, without the terms for search, which take most of the time. */
export function rowChange(n: number, size: number): RunChange {
  const row = traceRow(n, size);
  const { id, trace_id, name, run_type, start_us, end_us, dotted_order } = row;
  const { parent_run_id, error, inputs, outputs, extra, events } = row;
  const { total_tokens, prompt_tokens, completion_tokens } = row;
  const { total_cost, prompt_cost, completion_cost, first_token_us } = row;
  const tokens = { total_tokens, prompt_tokens, completion_tokens };
  const usage = { ...tokens, total_cost, prompt_cost, completion_cost };
  return {
    ...{ id, kind: "post", tags: JSON.parse(row.tags) },
    columns: {
      ...{ trace_id, name, run_type, start_us, end_us, dotted_order },
      // The rows have a fixed day: short-lived ones would expire while they are exported.
      trace_tier: "longlived",
      ...(parent_run_id === null ? {} : { parent_run_id }),
      ...(error === null ? {} : { error }),
    },
    payloads: {
      ...{ inputs: { text: inputs }, extra: { text: extra }, events: { text: events } },
      ...(outputs === null ? {} : { outputs: { text: outputs } }),
    },
    digest: {
      extra: {
        ...{ pairs: [], terms: [], keys: 0, thread_id: null },
        usage: total_tokens === null ? null : usage,
      },
      ...(first_token_us === null ? {} : { first_token_us }),
    },
  };
}
