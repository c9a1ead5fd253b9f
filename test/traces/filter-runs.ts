import { toPairs } from "../../src/traces/digest.ts";
import type { FeedbackEntry } from "../../src/traces/rows/rows.ts";
import type { RunView } from "../../src/traces/rows/run-view.ts";
import { termOf, threadTerm, traceTerm } from "../../src/traces/terms.ts";

/** Trace run as filters read it, with its rows as ingestion writes them. */
export type TestFeedback = {
  key: string;
  score: number | null;
  value?: string | undefined;
  source?: string | undefined;
};

export type TestRun = {
  id: string;
  trace_id: string;
  parent_run_id: string | null;
  name: string;
  run_type: string;
  /** ISO text or epoch microseconds. */
  start: string | number;
  end: string | number | null;
  error: string | null;
  is_root: boolean;
  thread_id: string | null;
  execution_order: number | null;
  dotted_order: string | null;
  total_tokens: number | null;
  prompt_tokens: number | null;
  total_cost: string | null;
  prompt_cost: string | null;
  tags: string[];
  metadata: Record<string, unknown>;
  inputs: Record<string, unknown>;
  outputs: Record<string, unknown>;
  feedback: TestFeedback[];
};

export function testRun(id: string, fields: Partial<TestRun> = {}): TestRun {
  const start = fields.start ?? "2024-06-01T10:00:00Z";
  return {
    id,
    trace_id: id,
    parent_run_id: fields.is_root ? null : "parent",
    name: "step",
    run_type: "chain",
    end: micros(start) + 1_000_000,
    error: null,
    is_root: false,
    thread_id: null,
    execution_order: null,
    dotted_order: null,
    total_tokens: null,
    prompt_tokens: null,
    total_cost: null,
    prompt_cost: null,
    tags: [],
    metadata: {},
    inputs: {},
    outputs: {},
    feedback: [],
    ...fields,
    start,
  };
}

export function micros(time: string | number): number {
  if (typeof time === "number") return time;
  const [whole = "", fraction = ""] = time.replace("Z", "").split(".");
  return Date.parse(`${whole}Z`) * 1000 + Number(fraction.padEnd(6, "0"));
}

export type TestPair = { key: string; value: string; number: number | null };

export function pairsOf(value: unknown, path = ""): TestPair[] {
  if (Array.isArray(value)) return value.flatMap((item) => pairsOf(item, path));
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([key, inner]) =>
      pairsOf(inner, path === "" ? key : `${path}.${key}`),
    );
  }
  const number = typeof value === "number" ? value : null;
  return [{ key: path, value: String(value).slice(0, 250), number }];
}

export function searchTextOf(run: TestRun): string {
  const texts = [run.name, run.error ?? ""];
  for (const { value } of [...pairsOf(run.inputs), ...pairsOf(run.outputs)]) texts.push(value);
  return texts.join("\n").toLowerCase();
}

/** Returns the run as the evaluator reads it. */
export function viewOf(run: TestRun, row: number): RunView {
  const end_us = run.end === null ? null : micros(run.end);
  const ended = end_us === null ? "pending" : "success";
  const contents = { m: run.metadata, i: run.inputs, o: run.outputs };
  return {
    ...run,
    row,
    start_us: micros(run.start),
    end_us,
    status: run.error === null ? ended : "error",
    is_root: run.is_root ? 1 : 0,
    reference_example_id: null,
    trace_tier: null,
    completion_tokens: null,
    completion_cost: null,
    first_token_us: null,
    ...{ inputs: null, outputs: null, extra: null, events: null, serialized: null },
    pointers: null,
    tags: JSON.stringify(run.tags),
    tag_list: run.tags,
    search_text: searchTextOf(run),
    seq: row,
    changed_seq: row,
    pairs: (of) => toPairs(contents[of]),
    copyText: () => 0,
    mayHaveWords: () => true,
    startingAt(start_us) {
      return { ...this, start_us };
    },
  };
}

export function feedbackOf(run: TestRun): FeedbackEntry[] {
  return run.feedback.map(({ value = null, source = null, ...given }) => ({
    ...given,
    value,
    source,
  }));
}

/** Returns the terms that storage indexes. */
export function termsOf(view: RunView): number[] {
  const kinds = ["m", "i", "o"] as const;
  return [
    ...kinds.flatMap((kind) => view.pairs(kind).map(([key, value]) => termOf(kind, key, value))),
    ...view.tag_list.map((tag) => termOf("tag", "", tag)),
    traceTerm(view.trace_id),
    ...(view.thread_id === null ? [] : [threadTerm(view.thread_id)]),
  ];
}
