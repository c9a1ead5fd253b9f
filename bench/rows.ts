import type { Batch } from "../src/exports/parquet/writer.ts";
import { GAP_BYTES, NULL_SIZE, type PackedTexts } from "../src/traces/rows/packed-texts.ts";

const utf8 = new TextEncoder();

/** Returns rows of a traced chat agent as a scan of a partition does: about 2 KB each, texts packed. Deterministic. */
export function traceRows(from: number, count: number): Batch {
  const rows = Array.from({ length: count }, (_, index) => traceRow(from + index));
  const names = Object.keys(rows[0] ?? traceRow(0)) as (keyof (typeof rows)[number])[];
  const columns = names.map((name) => {
    const cells = rows.map((row) => row[name]);
    return [name, cells.some(isNumber) ? cells : packTexts(cells)] as const;
  });
  return { rows: count, columns: Object.fromEntries(columns) };
}

function isNumber(cell: unknown): boolean {
  return typeof cell === "number";
}

/** Joins texts as the scan's SQL does. */
function packTexts(cells: readonly (string | number | null)[]): PackedTexts {
  const texts = cells.filter((cell) => cell !== null).map((cell) => utf8.encode(String(cell)));
  const bytes = texts.reduce((sum, text) => sum + GAP_BYTES + text.length, -GAP_BYTES);
  const packed = { bytes: new Uint8Array(Math.max(0, bytes)), sizes: new Int32Array(cells.length) };
  let [next, at] = [0, 0];
  for (const [row, cell] of cells.entries()) {
    const text = cell === null ? undefined : texts[next++];
    packed.sizes[row] = text?.length ?? NULL_SIZE;
    if (!text) continue;
    packed.bytes.set(text, at);
    at += text.length + GAP_BYTES;
  }
  return packed;
}

export const TENANT_ID = "01989f2e-6a1b-7c3d-8e4f-5a6b7c8d9e0f";
export const SESSION_ID = "01989f2e-7b2c-7d4e-9f50-6b7c8d9e0f1a";
export const CONSTANTS = { tenant_id: TENANT_ID, session_id: SESSION_ID };

const DAY_US = Date.UTC(2026, 10, 1) * 1000;
const RUNS_OF_TRACE = 5;
const NAMES = ["AgentExecutor", "ChatOpenAI", "retrieve_documents", "format_prompt", "ChatOpenAI"];
const TYPES = ["chain", "llm", "retriever", "prompt", "llm"];

/** `size`: how many times as long its texts are. */
export function traceRow(index: number, size = 1) {
  const trace = Math.floor(index / RUNS_OF_TRACE);
  const place = index % RUNS_OF_TRACE;
  const random = randomOf(index + 1);
  const start_us = startOf(trace, place);
  const id = idOf(trace, place);
  const trace_id = idOf(trace, 0);
  const root = segment(trace, 0);
  const failed = random() < 0.02;
  return {
    id,
    trace_id,
    ...(place === 0
      ? { parent_run_id: null, dotted_order: root }
      : { parent_run_id: trace_id, dotted_order: `${root}.${segment(trace, place)}` }),
    reference_example_id: null,
    name: NAMES[place] ?? "",
    run_type: TYPES[place] ?? "",
    start_us,
    end_us: start_us + 40_000 + Math.floor(random() * 3_000_000),
    status: failed ? "error" : "success",
    is_root: place === 0 ? 1 : 0,
    trace_tier: "shortlived",
    inputs: JSON.stringify({
      messages: [
        { role: "system", content: SYSTEM_PROMPT },
        { role: "user", content: sentences(random, 44 * size) },
      ],
    }),
    outputs: failed ? null : outputsOf(random, size),
    error: failed ? "RateLimitError: 429 too many requests" : null,
    extra: extraOf(random, trace),
    events: JSON.stringify([
      { name: "start", time: isoOf(start_us) },
      { name: "end", time: isoOf(start_us + 900_000) },
    ]),
    tags: place === 0 ? '["production","eu-west"]' : `["seq:step:${place}"]`,
    feedback_stats: random() < 0.05 ? '{"user_score":{"n":1,"avg":1.0}}' : null,
    ...(TYPES[place] === "llm" ? usageOf(random, start_us) : NO_USAGE),
  };
}

const NO_USAGE = {
  total_tokens: null,
  prompt_tokens: null,
  completion_tokens: null,
  total_cost: null,
  prompt_cost: null,
  completion_cost: null,
  first_token_us: null,
};

function usageOf(random: () => number, start_us: number) {
  const prompt_tokens = 200 + Math.floor(random() * 2000);
  const completion_tokens = 20 + Math.floor(random() * 400);
  const [prompt_cost, completion_cost] = [prompt_tokens * 4e-7, completion_tokens * 1.6e-6];
  return {
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens,
    completion_tokens,
    total_cost: (prompt_cost + completion_cost).toFixed(9),
    prompt_cost: prompt_cost.toFixed(9),
    completion_cost: completion_cost.toFixed(9),
    first_token_us: start_us + 30_000,
  };
}

function outputsOf(random: () => number, size: number): string {
  return JSON.stringify({
    generations: [{ text: sentences(random, 95 * size), finish_reason: "stop" }],
    llm_output: { model_name: "gpt-4.1-mini", system_fingerprint: hex(random, 10) },
  });
}

function extraOf(random: () => number, trace: number): string {
  return JSON.stringify({
    metadata: {
      thread_id: idOf(trace % 977, 9),
      user: `user-${Math.floor(random() * 5000)}`,
      ls_provider: "openai",
      ls_model_name: "gpt-4.1-mini",
      ls_temperature: 0.2,
    },
    runtime: { sdk: "langsmith-js", sdk_version: "0.10.5", platform: "node", runtime: "node" },
    invocation_params: { model: "gpt-4.1-mini", temperature: 0.2, stream: true, tools: [] },
  });
}

const SYSTEM_PROMPT =
  "You are a support agent of an online shop. Answer from the documents that were retrieved, in the customer's language, in at most three sentences, and name the order.";

const LETTERS = ["bcdfghjklmnprstvw", "aeiou", "abdeilmnorst"] as const;
const WORDS = Array.from({ length: 12_000 }, (_, index) => {
  const random = randomOf(index + 7919);
  const letters = Array.from({ length: 2 + Math.floor(random() * 8) }, (_, place) => {
    const among = LETTERS[place % 3] ?? "";
    return among[Math.floor(random() * among.length)];
  });
  return letters.join("");
});

/** Few words are frequent and many are rare, as in a language. */
function sentences(random: () => number, words: number): string {
  const chosen = Array.from({ length: words }, (_, index) => {
    const word = WORDS[Math.floor(random() ** 3 * WORDS.length)] ?? "";
    return index % 11 === 10 ? `${word}.` : word;
  });
  return chosen.join(" ");
}

function startOf(trace: number, place: number): number {
  return DAY_US + trace * 4_321_000 + place * 210_017;
}

function isoOf(micros: number): string {
  const ms = Math.floor(micros / 1000);
  return `${new Date(ms).toISOString().slice(0, -1)}${String(micros - ms * 1000).padStart(3, "0")}+00:00`;
}

function segment(trace: number, place: number): string {
  const time = isoOf(startOf(trace, place)).replaceAll(/[-:.]|\+.*$/g, "");
  return `${time.slice(0, 15)}${time.slice(15)}Z${idOf(trace, place)}`;
}

function idOf(trace: number, place: number): string {
  const random = randomOf(trace * 16 + place + 1);
  const time = Math.floor(startOf(trace, place) / 1000)
    .toString(16)
    .padStart(12, "0");
  const [a, b, c] = [hex(random, 3), hex(random, 3), hex(random, 12)];
  return `${time.slice(0, 8)}-${time.slice(8)}-7${a}-8${b}-${c}`;
}

function hex(random: () => number, digits: number): string {
  return Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join("");
}

/** mulberry32 */
function randomOf(seed: number): () => number {
  let state = Math.imul(seed, 0x9e3779b1);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 4_294_967_296;
  };
}
