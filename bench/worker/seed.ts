import type { RunChange } from "../../src/traces/changes.ts";
import { toIncoming } from "../../src/traces/ingest/incoming.ts";
import { traceRow } from "../rows.ts";

const RARE = 10_000;

/** The nth of many small runs of a day: a few of one user, half of one environment. */
export function seedChange(day: string, n: number): RunChange {
  const start = Date.parse(`${day}T00:00:00Z`) + n * 50;
  const time = start.toString(16).padStart(12, "0");
  const id = `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`;
  const run = {
    id,
    name: "step",
    run_type: "chain",
    start_time: start,
    end_time: start + 40,
    inputs: { question: "What is the weather in the city of the request?" },
    outputs: { answer: "It is as it was yesterday, and so it will be." },
    extra: { metadata: { user_id: `u${n % RARE}`, env: n % 2 === 0 ? "prod" : "dev" } },
    tags: n % RARE === 7 ? ["rare", "bench"] : ["bench"],
  };
  return toIncoming(run, "post", []);
}

/** Rows of `rows.ts` as an ingested run would be kept, without what search needs, which takes the most time. */
export function rowChange(n: number, size: number): RunChange {
  const row = traceRow(n, size);
  const { id, trace_id, name, run_type, start_us, end_us, dotted_order, trace_tier } = row;
  const { parent_run_id, error, inputs, outputs, extra, events } = row;
  const { total_tokens, prompt_tokens, completion_tokens } = row;
  const { total_cost, prompt_cost, completion_cost, first_token_us } = row;
  const tokens = { total_tokens, prompt_tokens, completion_tokens };
  const usage = { ...tokens, total_cost, prompt_cost, completion_cost };
  return {
    ...{ id, kind: "post", tags: JSON.parse(row.tags) },
    columns: {
      ...{ trace_id, name, run_type, start_us, end_us, dotted_order, trace_tier },
      ...(parent_run_id === null ? {} : { parent_run_id }),
      ...(error === null ? {} : { error }),
    },
    payloads: {
      ...{ inputs: { text: inputs }, extra: { text: extra }, events: { text: events } },
      ...(outputs === null ? {} : { outputs: { text: outputs } }),
    },
    digest: {
      extra: { pairs: "", terms: [], thread_id: null, usage: total_tokens === null ? null : usage },
      ...(first_token_us === null ? {} : { first_token_us }),
    },
  };
}
