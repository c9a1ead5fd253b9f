import { type SpanSeed, sendSpans, toWireSpans, type WireSpan } from "../trace-spans.ts";
import type { Access } from "./access.ts";
import type { Words } from "./words.ts";

export type SeededTraces = {
  /** Id of the project. */
  project: string;
  /** A trace that failed, and one that did not. */
  failed_trace: string;
  trace: string;
};

const MINUTE_MS = 60_000;
const TRACES = 60;

/** Traces of the last hour, a tenth of which failed. */
export async function seedTraces(access: Access, words: Words): Promise<SeededTraces> {
  const name = words.text(`market-research-${crypto.randomUUID().slice(0, 4)}`);
  const { id: project = "" } = await access.call("POST", "/api/v1/sessions", { name });
  const traces = Array.from({ length: TRACES }, (_, n) =>
    toWireSpans(name, new Date(Date.now() - (n + 1) * MINUTE_MS), research(words, n)),
  );
  const send = async (path: string, body: unknown) => {
    await access.call("POST", path, body);
    return { status: 202, body: null };
  };
  await sendSpans(send, traces.flat());
  const idOf = (n: number) => rootOf(traces, n).id;
  for (const [key, score] of [
    ["helpfulness", 0.2],
    ["sources", 1],
  ] as const) {
    await access.call("POST", "/api/v1/feedback", {
      run_id: idOf(0),
      key: words.text(key).slice(0, 180),
      score,
      comment: words.long("The answer came too late").slice(0, 90_000),
    });
  }
  return { project, failed_trace: idOf(0), trace: idOf(1) };
}

function rootOf(traces: WireSpan[][], n: number): WireSpan {
  const [root] = traces[n] ?? [];
  if (root === undefined) throw new Error(`There is no trace ${n}.`);
  return root;
}

/** Numbers that look random and are the same each time. */
const spread = (n: number, size: number) => (n * 7919) % size;

function research(words: Words, n: number): SpanSeed[] {
  const isFailed = n % 10 === 0;
  const scale = 0.4 + spread(n, 17) / 10;
  const at = (ms: number) => Math.round(ms * scale);
  const question = "Compare the subsidies for heat pumps in four countries";
  const error = words.long(
    "TooManyRequests: search.example answered 429\n  at call (search.ts:41:13)",
  );
  const broken = isFailed ? { error } : {};
  return [
    {
      name: words.text("research"),
      start: 0,
      end: at(46_000),
      more: {
        ...broken,
        tags: [words.text("market"), n % 3 === 0 ? "canary" : "stable"],
        inputs: { messages: [{ role: "user", content: words.long(question) }] },
        outputs: isFailed ? {} : { messages: answer(words) },
        extra: { metadata: { customer: words.text("Ada"), note: words.long("by mail") } },
      },
    },
    { name: "plan", parent: 0, start: at(10), end: at(2400) },
    model(1, at(20), at(2300), 900 + spread(n, 400)),
    { name: "gather", parent: 0, start: at(2500), end: at(46_000), more: broken },
    { name: "notes_store", run_type: "retriever", parent: 3, start: at(2500), end: at(2810) },
    {
      name: words.text("web_search"),
      run_type: "tool",
      parent: 3,
      start: at(36_000),
      end: at(41_900),
      more: {
        ...broken,
        inputs: { [words.long("query")]: words.text("grid storage price"), max_results: 8 },
        outputs: isFailed ? {} : { pages: [words.long("a page")] },
      },
    },
    model(3, at(42_000), at(45_800), 2100 + spread(n, 900)),
  ];
}

const answer = (words: Words) => [
  { role: "assistant", content: words.long("Germany pays up to 70 %, France up to 11,000 euros.") },
];

function model(parent: number, start: number, end: number, input_tokens: number): SpanSeed {
  const usage_metadata = { input_tokens, output_tokens: 280, total_tokens: input_tokens + 280 };
  const messages = [[{ role: "user", content: "Plan the search" }]];
  return {
    name: "gpt-5-mini",
    run_type: "llm",
    parent,
    start,
    end,
    more: {
      inputs: { messages },
      outputs: { text: "Search for each country, then compare.", usage_metadata },
      extra: { metadata: { ls_provider: "openai", ls_model_name: "gpt-5-mini" } },
      events: [{ name: "new_token", time: new Date().toISOString() }],
    },
  };
}
