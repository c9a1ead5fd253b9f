import { randomBytes } from "node:crypto";
import { toIso, toMicros } from "../../../src/shared/times.ts";
import { toDottedOrder } from "../../../src/traces/dotted-order.ts";
import { request } from "./http.ts";

type Seed = {
  from: string;
  to: string;
  count: number;
  project?: string;
  /** Random text, so that compression does not shrink the answer. */
  bytes?: number;
  /** Another caller than the stack's own. */
  headers?: Record<string, string>;
};

const BATCH = 500;
const BATCH_BYTES = 5_000_000;
const TYPES = ["chain", "llm", "tool"] as const;

/** That many runs, evenly over the range from its first microsecond on; the id of their project. */
export async function seedRuns({
  from,
  to,
  count,
  project,
  bytes = 0,
  headers,
}: Seed): Promise<string> {
  const session_name = project ?? `seed-${crypto.randomUUID().slice(0, 8)}`;
  const session = { name: session_name };
  const { body } = await request<{ id: string }>(
    "POST",
    "/api/v1/sessions?upsert=true",
    session,
    headers,
  );
  const [start, end] = [toMicros(from) ?? 0, toMicros(to) ?? 0];
  const step = Math.floor((end - start) / count);
  const size = Math.min(BATCH, Math.max(1, Math.floor(BATCH_BYTES / Math.max(1, bytes))));
  for (let at = 0; at < count; at += size) {
    const post = Array.from({ length: Math.min(size, count - at) }, (_, n) =>
      toRun(session_name, at + n, start + (at + n) * step, bytes),
    );
    const answer = await request("POST", "/runs/batch", { post, patch: [] }, headers);
    if (answer.status !== 202) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  }
  return body.id;
}

function toRun(session_name: string, n: number, start_us: number, bytes: number) {
  const id = crypto.randomUUID();
  return {
    id,
    trace_id: id,
    dotted_order: toDottedOrder(start_us, id),
    session_name,
    name: `run ${n}`,
    run_type: TYPES[n % TYPES.length],
    start_time: toIso(start_us),
    end_time: toIso(start_us + 1_500_000),
    inputs: { question: `What is ${n}?` },
    outputs: { answer: bytes === 0 ? String(n) : randomBytes(bytes / 2).toString("hex") },
    extra: { metadata: { n } },
    tags: ["seed", `t${n % 7}`],
  };
}
