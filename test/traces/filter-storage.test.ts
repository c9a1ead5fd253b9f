import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { RunChange } from "../../src/traces/changes.ts";
import { digestExtra, digestInputs, digestOutputs, toPairs } from "../../src/traces/digest.ts";
import { FIELD_NAMES, findField } from "../../src/traces/filter/fields.ts";
import { parseFilter, readFilter } from "../../src/traces/filter/parse.ts";
import type { TracePartition } from "../../src/traces/object/object.ts";
import { FeedbackLookup } from "../../src/traces/reads/feedback-lookup.ts";
import type { RunsQuery } from "../../src/traces/reads/query.ts";
import { RunReader } from "../../src/traces/reads/run-reader.ts";
import { ColdStorage } from "../../src/traces/storage/cold-storage.ts";
import { PartitionStore } from "../../src/traces/storage/partition.ts";
import { finderOf } from "./filter-finding.ts";
import { feedbackOf, micros, type TestRun, testRun } from "./filter-runs.ts";

const SEED = 20_261_123;
const RUNS = 150;
const FILTERS = 2000;
const BATCH = 40;
const PAGE = 20;
const STEP = 33;

const pick = <T>(values: readonly T[]) => fc.constantFrom(...values);
const TEXTS = [
  ...["", "x", "X", "xy", "x.y", "a%b", "a_b", "a\\b", "100%", "1", "1.0", "true", "null"],
  ...["é", "É", "ß", "İ", "日本", "\u{1f600}", "\uffee", "a\u{1f600}b", "a\uffeeb", "line\nbreak"],
  ...["x/", "x.", "k.", "key with space", "long ".repeat(20), `${"Wide ".repeat(12)}End`],
  "z".repeat(250),
];
const NUMBERS = [0, -1, 0.5, 1, 2, 3, 1.5, 1e-7, 123456789, 9007199254740991, 1e300];
const COSTS = [null, "0", "0.1", "0.10", "0.2", "1.5", "0.000001", "123.456", "-0.5", "2", "1"];
const TOKENS = [null, null, 0, 1, 2, 3, 10, 9007199254740991];
const START = 1_717_236_000_000_000;
const STARTS = [START, START + 1, START + 1_000_000, START + 50_400_000_000];

const scalar = fc.oneof(pick(TEXTS), pick(NUMBERS), fc.boolean(), fc.constant(null));
const KEYS = ["k", "j", "kk", "k.l", "K", "é", "k/"];
const keys = pick([...KEYS, ""]);
const content = fc.dictionary(
  pick(KEYS),
  fc.oneof(
    { weight: 4, arbitrary: scalar },
    { weight: 1, arbitrary: fc.array(scalar, { maxLength: 3 }) },
    { weight: 1, arbitrary: fc.dictionary(pick(["l", "", "."]), scalar, { maxKeys: 2 }) },
  ),
  { maxKeys: 4 },
);

const fields = fc.record({
  name: pick(TEXTS),
  run_type: pick(["llm", "chain", "tool"]),
  start: pick(STARTS),
  lasts: fc.option(pick([0, 1, 500_000, 1_000_000, 5_000_000]), { nil: null }),
  error: fc.option(pick(TEXTS.slice(1)), { nil: null }),
  thread_id: fc.option(pick(TEXTS), { nil: null }),
  execution_order: fc.option(pick([1, 2, 3]), { nil: null }),
  total_tokens: pick(TOKENS),
  prompt_tokens: pick(TOKENS),
  total_cost: pick(COSTS),
  prompt_cost: pick(COSTS),
  tags: fc.uniqueArray(pick(TEXTS), { maxLength: 3 }),
  metadata: content,
  inputs: content,
  outputs: content,
  feedback: fc.array(
    fc.record({
      key: pick(["k", "j", "K", "é"]),
      score: fc.option(pick(NUMBERS), { nil: null }),
      value: fc.option(pick(TEXTS), { nil: undefined }),
      source: fc.option(pick(["api", "app"]), { nil: undefined }),
    }),
    { maxLength: 3 },
  ),
  trace: fc.nat(19),
  parent: fc.nat(1000),
  isPlaced: fc.nat(9),
});

const idOf = (n: number) => `${String(n).padStart(8, "0")}-0000-7000-8000-000000000000`;

/** Places each run below an earlier one of its trace, or nowhere. */
function toRuns(samples: (typeof fields extends fc.Arbitrary<infer T> ? T : never)[]): TestRun[] {
  const traces = new Map<number, TestRun[]>();
  return samples.map(({ lasts, trace, parent, isPlaced, ...rest }, index) => {
    const above = traces.get(trace) ?? [];
    const upper = above[parent % Math.max(1, above.length)];
    const segment = `20240601T100000${String(index).padStart(6, "0")}Z${idOf(index)}`;
    const place = upper?.dotted_order == null ? segment : `${upper.dotted_order}.${segment}`;
    const run = testRun(idOf(index), {
      ...rest,
      end: lasts === null ? null : rest.start + lasts,
      trace_id: idOf(trace),
      is_root: upper === undefined,
      parent_run_id: upper?.id ?? null,
      dotted_order: isPlaced === 0 ? null : place,
    });
    traces.set(trace, [...above, run]);
    return run;
  });
}

const TIMES = ["2024-06-01T10:00:00Z", "2024-06-01T10:00:00.000001Z", "2024-06-02T00:00:00Z"];
const PATTERNS = [
  ...[
    "%",
    "_",
    "",
    "x%",
    "%y",
    "%x%",
    "_x",
    "x_",
    "a\\%b",
    "a\\_b",
    "a\\\\b",
    "a%b",
    "x\\",
    "É",
    "é",
  ],
  ...["%\u{1f600}%", "a_b", "__", "%_%", "%a%b%", "%end", "wide%", "%\\", "LONG%LONG%", "\\x%"],
  ...[`${"wide ".repeat(10)}%end`, "long ".repeat(20), `%${"long ".repeat(10)}%`, "z".repeat(250)],
  ...[`${"z".repeat(60)}%${"z".repeat(190)}`, `${"z".repeat(60)}%${"z".repeat(191)}`],
];
const literal: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 5, arbitrary: pick(TEXTS) },
  { weight: 4, arbitrary: pick([...NUMBERS, 0.1, 0.3, 5]) },
  { weight: 1, arbitrary: fc.boolean() },
  { weight: 1, arbitrary: fc.constant(null) },
  { weight: 2, arbitrary: pick([...TIMES, "500ms", "5s", "1us", "llm", "success", "error", "k"]) },
  { weight: 1, arbitrary: pick([idOf(3), idOf(4), "p", `${TIMES[0]} ${idOf(70)}`]) },
);
const FEW = ["metadata_key", "metadata_value", "input_value", "feedback_key", "feedback_score"];

/** Writes a test of a field with a value that its function accepts, mostly. */
const leaf: fc.Arbitrary<string> = fc
  .oneof(pick(FIELD_NAMES), pick(FEW))
  .chain((field) => pick(findField(field)?.functions ?? []).map((fn) => ({ field, fn })))
  .chain(({ field, fn }) => {
    const isObject = ["metadata", "inputs", "outputs"].includes(field);
    const written = (value: unknown) => `${fn}(${field}, ${JSON.stringify(value)})`;
    if (fn === "in") return fc.array(literal, { minLength: 1, maxLength: 4 }).map(written);
    if (fn === "like") return pick(PATTERNS).map(written);
    if (fn === "has" && isObject) {
      return fc.oneof(content, fc.constant({})).map((object) => written(JSON.stringify(object)));
    }
    return fc
      .oneof(literal, field.endsWith("_key") || fn === "exists" ? keys : literal)
      .map(written);
  })
  .filter((text) => readFilter(text).ok);

const words = pick([...TEXTS, "e+300", "e", "0.0000001", "x x", "LONG wide"])
  .map((text) => `search(${JSON.stringify(text)})`)
  .filter((text) => readFilter(text).ok);

const { filter } = fc.letrec<{ filter: string }>((tie) => ({
  filter: fc.oneof(
    { depthSize: "small", maxDepth: 4 },
    { weight: 6, arbitrary: leaf },
    { weight: 1, arbitrary: words },
    {
      weight: 4,
      arbitrary: fc
        .tuple(pick(["and", "or"]), fc.array(tie("filter"), { minLength: 1, maxLength: 4 }))
        .map(([fn, args]) => `${fn}(${args.join(", ")})`),
    },
    {
      weight: 2,
      arbitrary: fc
        .array(
          leaf.filter((text) => text.includes("(metadata_") || text.includes("(feedback_")),
          {
            minLength: 2,
            maxLength: 4,
          },
        )
        .map((args) => `and(${args.join(", ")})`),
    },
    { weight: 1, arbitrary: tie("filter").map((inner) => `not(${inner})`) },
  ),
}));

/** Escapes as some JSON writers do. */
function textOf(value: Record<string, unknown>): string {
  const text = JSON.stringify(value);
  if (text.length % 3 !== 0) return text;
  const toEscape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(/[x%]|[^\x20-\x7e]/g, toEscape).replaceAll("/", "\\/");
}

function changeOf(run: TestRun): RunChange {
  const { name, run_type, trace_id, parent_run_id, dotted_order, execution_order, error } = run;
  const { metadata, inputs, outputs, thread_id, tags } = run;
  const columns = {
    ...{ name, run_type, trace_id, parent_run_id, dotted_order, execution_order, error },
    start_us: micros(run.start),
    end_us: run.end,
  };
  const given = Object.entries(columns).filter(([, value]) => value !== null);
  const { total_tokens, prompt_tokens, total_cost, prompt_cost } = run;
  const usage = { total_tokens, prompt_tokens, total_cost, prompt_cost };
  const extra = { metadata };
  return {
    id: run.id,
    kind: "post",
    columns: Object.fromEntries(given),
    payloads: {
      extra: { text: textOf(extra) },
      inputs: { text: textOf(inputs) },
      outputs: { text: textOf(outputs) },
    },
    tags,
    digest: {
      extra: { ...digestExtra(extra), thread_id },
      inputs: digestInputs(inputs),
      outputs: {
        ...digestOutputs(outputs),
        usage: { ...usage, completion_tokens: null, completion_cost: null },
      },
    },
  };
}

function ingestAll(store: PartitionStore, changes: RunChange[]): void {
  for (let at = 0; at < changes.length; at += BATCH) {
    store.ingest(changes.slice(at, at + BATCH), false);
  }
}

/** The post of a run that is under way: without what a later patch brings. */
function postOf(run: TestRun): RunChange {
  const { columns, payloads, digest, tags: _, ...change } = changeOf(run);
  const { end_us: _e, error: _r, ...begun } = columns;
  const { outputs: _o, ...given } = payloads;
  const { outputs: _d, ...digested } = digest;
  return { ...change, columns: begun, payloads: given, digest: digested };
}

/** Dead versions are dropped once they take 64 KB. The patch replaces these outputs. */
function longPostOf(run: TestRun): RunChange {
  const noise = Buffer.from(crypto.getRandomValues(new Uint8Array(2000))).toString("base64");
  const post = postOf(run);
  return { ...post, payloads: { ...post.payloads, outputs: { text: JSON.stringify({ noise }) } } };
}

function addFeedback(store: PartitionStore, runs: TestRun[]): void {
  store.change(() => {
    for (const run of runs) {
      for (const [n, entry] of feedbackOf(run).entries()) {
        const times = { created_at: "2024-06-01T10:00:00.000Z", modified_at: null };
        const row = { ...entry, ...times, id: `${run.id}-${n}`, run_id: run.id };
        store.feedback.put({ ...row, comment: null, body: "{}" });
      }
    }
  });
}

/** Each run in two segments, of which one is dead. Every third patch is alone in its batch, every seventh comes before its post. */
function ingestLate(store: PartitionStore, runs: TestRun[]): void {
  const patches = runs.map((run): RunChange => ({ ...changeOf(run), kind: "patch" }));
  const isEarly = (n: number) => n % 7 === 0;
  ingestAll(
    store,
    patches.filter((_, n) => isEarly(n)),
  );
  ingestAll(store, runs.map(postOf));
  const late = patches.filter((_, n) => !isEarly(n)).reverse();
  const isAlone = (n: number) => n % 3 === 0;
  ingestAll(
    store,
    late.filter((_, n) => !isAlone(n)),
  );
  for (const [n, patch] of late.entries()) if (isAlone(n)) store.ingest([patch], false);
}

/** Merges all small segments, whatever their size. */
function mergeAll(store: PartitionStore): void {
  while (store.mergeSmallBodies(store.segments.loaded.lastNumber, 1));
}

/** Half of the versions of a segment are dead when it is compacted; the last patches come after that. */
function ingestCompacted(store: PartitionStore, runs: TestRun[]): void {
  const patches = runs.map((run): RunChange => ({ ...changeOf(run), kind: "patch" }));
  ingestAll(store, runs.map(longPostOf));
  mergeAll(store);
  ingestAll(store, patches.slice(0, RUNS / 2));
  expect(store.compact()).toBe(true);
  while (store.compact());
  ingestAll(store, patches.slice(RUNS / 2));
  mergeAll(store);
}

/** Moves all bodies to R2, whatever their size. */
async function coolAll(store: PartitionStore, storage: DurableObjectStorage): Promise<void> {
  const { cold } = store.segments;
  for (let number = cold.nextHot(1); number !== null; number = cold.nextHot(1)) {
    const moved = number;
    const key = `traces/${crypto.randomUUID()}.body`;
    const body = cold.begin(moved, { key, upload_id: "none" });
    if (body) await env.ARTIFACTS.put(key, body);
    storage.transactionSync(() => cold.commit(moved, key));
  }
  cold.clearCache();
}

/** Ways of a partition to what it holds, with the number of filters that test it. */
const PHASES: Record<string, [number, (one: PartitionStore, runs: TestRun[]) => void]> = {
  "as they came": [FILTERS, (store, runs) => ingestAll(store, runs.map(changeOf))],
  "with late patches": [FILTERS / 4, ingestLate],
  compacted: [FILTERS / 4, ingestCompacted],
};

const EVERYTHING: RunsQuery = {
  ...{ project_id: "p", columns: [], ids: null, order: "asc", limit: 1, after: null },
  ...{ max_seq: null, min_start_us: null, max_start_us: null, is_root: null, has_error: null },
  ...{ run_type: null, trace_ids: null, parent_run_id: null, execution_order: null },
  ...{ reference_example_ids: null, trace_filter: null, tree_filter: null, filter: null },
  ...{ trace_matches: [], tree_matches: [] },
};

type Finder = (text: string, order: "asc" | "desc") => { all: string[]; inSteps: string[] };

function finderIn(store: PartitionStore, storage: DurableObjectStorage): Finder {
  return (text, order) => {
    const reader = new RunReader(store.runs, new FeedbackLookup(storage.sql));
    const query = { ...EVERYTHING, order, filter: parseFilter(text) };
    const all = [...reader.matching(query, order)].map(({ id }) => id);
    return { all, inSteps: findInSteps(reader, query) };
  };
}

/** Compares what filters find in a partition with what they find among the runs that were sent. */
async function compareFilters(
  sent: TestRun[],
  count: number,
  find: (...args: Parameters<Finder>) => Promise<ReturnType<Finder>>,
): Promise<void> {
  const findSent = finderOf(sent);
  let matched = 0;
  const property = fc.asyncProperty(filter, pick(["asc", "desc"] as const), async (text, order) => {
    const { all, inSteps } = await find(text, order);
    const expected = findSent(text, "p");
    matched += expected.all.length;
    expect(expected.named, text).toEqual(expected.all);
    expect(all, text).toEqual(inOrder(sent, expected.all, order));
    expect(inSteps, text).toEqual(all.slice(0, PAGE));
  });
  await fc.assert(property, { seed: SEED, numRuns: count });
  expect(matched / count).toBeGreaterThan(RUNS / 20);
}

const inPartition = (
  work: (store: PartitionStore, storage: DurableObjectStorage) => Promise<void>,
) => {
  const stub = env.PARTITIONS.getByName(crypto.randomUUID());
  return runInDurableObject(stub as DurableObjectStub<TracePartition>, (_, { storage }) =>
    work(new PartitionStore(storage), storage),
  );
};

test.each(Object.entries(PHASES))(
  "a filter finds in storage what it finds among the runs that were sent: %s",
  async (_, [count, store]) => {
    const sent = toRuns(fc.sample(fields, { seed: SEED, numRuns: RUNS }));
    await inPartition(async (partition, storage) => {
      store(partition, sent);
      addFeedback(partition, sent);
      const find = finderIn(partition, storage);
      await compareFilters(sent, count, async (text, order) => find(text, order));
    });
  },
  300_000,
);

test("a filter finds in bodies in R2 what it finds among the runs that were sent", async () => {
  const sent = toRuns(fc.sample(fields, { seed: SEED, numRuns: RUNS }));
  await inPartition(async (partition, storage) => {
    ingestLate(partition, sent);
    mergeAll(partition);
    addFeedback(partition, sent);
    await coolAll(partition, storage);
    expect(partition.segments.cold.isEmpty).toBe(false);
    expect(() => finderIn(partition, storage)('search("x")', "asc")).toThrow("is in R2");
    const cold = new ColdStorage(env, storage, partition);
    const find = finderIn(partition, storage);
    await compareFilters(sent, FILTERS / 4, (text, order) => cold.attempt(() => find(text, order)));
  });
}, 300_000);

test("a number that no double holds is found by its text only", () => {
  expect(toPairs(JSON.parse('{ "k": 1e400 }'))).toEqual([["k", "Infinity", null]]);
});

/** Finds a page as a service does: the search stops after few runs, and continues at its position. */
function findInSteps(reader: RunReader, query: RunsQuery): string[] {
  const ids: string[] = [];
  for (let { after } = query; ; ) {
    const limit = PAGE - ids.length;
    const { rows, next } = reader.find({ ...query, columns: ["id"], limit, after }, STEP);
    ids.push(...rows.map(({ id }) => id));
    if (next === null) return ids;
    after = next;
  }
}

function inOrder(runs: TestRun[], ids: string[], order: "asc" | "desc"): string[] {
  const chosen = runs.filter(({ id }) => ids.includes(id));
  chosen.sort((a, b) => micros(a.start) - micros(b.start) || (a.id < b.id ? -1 : 1));
  const sorted = chosen.map(({ id }) => id);
  return order === "asc" ? sorted : sorted.reverse();
}
