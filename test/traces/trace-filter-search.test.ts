import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, expect, test, vi } from "vitest";
import { parseFilter } from "../../src/traces/filter/parse.ts";
import { TracePartition } from "../../src/traces/object/object.ts";
import { FeedbackLookup } from "../../src/traces/reads/feedback-lookup.ts";
import type { RunsQuery } from "../../src/traces/reads/query.ts";
import { RunReader } from "../../src/traces/reads/run-reader.ts";
import { SegmentRun } from "../../src/traces/segments/segment-run.ts";
import { PartitionStore } from "../../src/traces/storage/partition.ts";
import { api } from "../support/workspace.ts";
import { dayAt, daysAgo, type Scene, scene, send } from "./support/expiry.ts";
import { type WireRun, wireRun } from "./support/runs.ts";

const TRACES = 12;
const CHILDREN = 4;
const STEP = 7;
const LIMIT = 100;
const AT = daysAgo(3);
const WORDS = ["alpha", "beta", "gamma"];

type Sent = { run: WireRun; trace: number; child: number | null };

let one: Scene;
let sent: Sent[];
beforeAll(async () => {
  one = await scene("longlived");
  sent = Array.from({ length: TRACES }, (_, trace) => traceOf(trace)).flat();
  await send(one, ...sent.map(({ run }) => run));
});

/** The root has one of three words, the third child of each fourth trace a needle. */
function traceOf(trace: number): Sent[] {
  const at = AT + trace * 10;
  const inputs = { text: WORDS[trace % WORDS.length] };
  const root = wireRun(one.name, { name: "root", inputs }, { at });
  const children = Array.from({ length: CHILDREN }, (_, child): Sent => {
    const text = child === 3 && trace % 4 === 0 ? "needle" : "hay";
    const fields = { name: `step-${child}`, tags: [`tag-${child}`], inputs: { text } };
    return { trace, child, run: wireRun(one.name, fields, { at: at + child + 1, parent: root }) };
  });
  return [{ run: root, trace, child: null }, ...children];
}

const EVERYTHING: RunsQuery = {
  ...{ project_id: "p", columns: ["id"], ids: null, order: "asc", limit: LIMIT, after: null },
  ...{ max_seq: null, min_start_us: null, max_start_us: null, is_root: null, has_error: null },
  ...{ run_type: null, trace_ids: null, parent_run_id: null, execution_order: null },
  ...{ reference_example_ids: null, trace_filter: null, tree_filter: null, filter: null },
  ...{ trace_matches: [], tree_matches: [] },
};

function withReader<T>(work: (reader: () => RunReader) => T): Promise<T> {
  const stub = env.PARTITIONS.getByName(`${one.project_id}/${dayAt(AT)}/0`);
  return runInDurableObject(stub, (_, { storage }) => {
    const store = new PartitionStore(storage);
    return work(() => new RunReader(store.runs, new FeedbackLookup(storage.sql)));
  });
}

/** Finds runs as a service does. Returns their ids, and the most texts that one call read. */
function findInSteps(reader: () => RunReader, query: RunsQuery): { ids: string[]; most: number } {
  const original = SegmentRun.prototype.mayHaveWords;
  let [texts, most] = [0, 0];
  SegmentRun.prototype.mayHaveWords = function (words) {
    texts += 1;
    return original.call(this, words);
  };
  try {
    const ids: string[] = [];
    for (let { after } = query; ; ) {
      texts = 0;
      const { rows, next } = reader().find({ ...query, limit: LIMIT - ids.length, after }, STEP);
      ids.push(...rows.map(({ id }) => String(id)));
      most = Math.max(most, texts);
      if (next === null) return { ids, most };
      after = next;
    }
  } finally {
    SegmentRun.prototype.mayHaveWords = original;
  }
}

const isFourth = ({ trace }: Sent) => trace % 4 === 0;
const isAlpha = ({ trace }: Sent) => trace % 3 === 0;
type Texts = Partial<Record<"filter" | "trace_filter" | "tree_filter", string>>;
const CASES: [Texts, (run: Sent) => boolean][] = [
  [{ tree_filter: 'search("needle")' }, isFourth],
  [{ trace_filter: 'search("alpha")' }, isAlpha],
  [{ trace_filter: 'search("needle")' }, () => false],
  [{ tree_filter: 'search("absent")' }, () => false],
  [{ tree_filter: 'not(search("absent"))' }, () => true],
  [
    { trace_filter: 'search("alpha")', tree_filter: 'search("needle")' },
    (run) => isAlpha(run) && isFourth(run),
  ],
  [{ tree_filter: 'and(has(tags, "tag-3"), search("needle"))' }, isFourth],
  [{ tree_filter: 'and(has(tags, "tag-2"), search("needle"))' }, () => false],
  [{ tree_filter: 'or(search("needle"), eq(name, "none"))' }, isFourth],
  [
    { filter: 'search("hay")', trace_filter: 'search("alpha")' },
    (run) => isAlpha(run) && run.child !== null && !(isFourth(run) && run.child === 3),
  ],
  [
    { filter: 'search("needle")', tree_filter: 'eq(name, "step-0")' },
    (run) => isFourth(run) && run.child === 3,
  ],
];

test.each(CASES)(
  "%j finds its runs, and a call reads a bounded number of texts",
  async (texts, holds) => {
    const expected = sent.filter(holds).map(({ run }) => run.id);
    const filters = Object.entries(texts).map(([name, text]) => [name, parseFilter(text)]);
    for (const order of ["asc", "desc"] as const) {
      const query = { ...EVERYTHING, ...Object.fromEntries(filters), order };
      const { ids, most } = await withReader((reader) => findInSteps(reader, query));
      expect(ids).toEqual(order === "asc" ? expected : expected.toReversed());
      expect(most).toBeGreaterThan(0);
      expect(most).toBeLessThanOrEqual(2 * (STEP + CHILDREN + 1));
    }
  },
);

test("a trace that matches in another partition is found without its texts", async () => {
  const [first] = sent.slice(CHILDREN + 1);
  const tree_matches = [first?.run.id ?? ""];
  for (const text of ['search("absent")', 'and(has(tags, "tag-1"), search("absent"))']) {
    const query = { ...EVERYTHING, tree_filter: parseFilter(text), tree_matches };
    const { ids } = await withReader((reader) => findInSteps(reader, query));
    expect(ids).toEqual(sent.filter(({ trace }) => trace === 1).map(({ run }) => run.id));
  }
});

test("pages of a search in trees add up to all of its runs", async () => {
  const found: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const json = { session: [one.project_id], tree_filter: 'search("needle")', limit: 4, cursor };
    const page = await api("/runs/query", { key: one.ours.viewer, json });
    const answer = await page.json<{ runs: WireRun[]; cursors: { next: string | null } }>();
    found.push(...answer.runs.map(({ id }) => id));
    cursor = answer.cursors.next;
    if (cursor === null) break;
  }
  expect(found).toEqual(
    sent
      .filter(isFourth)
      .map(({ run }) => run.id)
      .reverse(),
  );
});

test("a search in trees is refused when a partition has more traces of several days than are read", async () => {
  const trace = { root_day: dayAt(AT), trace_id: crypto.randomUUID() };
  const far = vi.spyOn(TracePartition.prototype, "getFarTraces");
  far.mockResolvedValue(Array.from({ length: 10_000 }, () => trace));
  const json = { session: [one.project_id], tree_filter: 'eq(name, "step-1")' };
  const response = await api("/runs/query", { key: one.ours.viewer, json });
  far.mockRestore();
  expect([response.status, await response.text()]).toEqual([
    413,
    expect.stringMatching(/10000 traces or more have runs of .* and of other days/),
  ]);
});
