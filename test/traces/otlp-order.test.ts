import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { hexId, runsByName, sendSpans, type TestSpan, toProtobuf } from "./support/otlp.ts";
import { projectId, type ReadRun } from "./support/runs.ts";

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});

const MANY = 5000;
const ORDERS = 2;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** Tree as its spans see it: each node has a parent before it, and starts within the parent. */
type Node = { parent: number; offset: number; length: number };
const nodes = fc.array(
  fc.record({
    parent: fc.nat(),
    offset: fc.integer({ min: 0, max: 999 }),
    length: fc.integer({ min: 1, max: 1000 }),
  }),
  { minLength: 0, maxLength: 9 },
);

/** Returns spans with times within the parent's. The root lasts for days, so many spans cross midnight. */
function toSpans(list: Node[], root_ms: number): TestSpan[] {
  const trace = hexId(16);
  const root = { trace, id: hexId(8), name: "n0", start_ms: root_ms, end_ms: root_ms + 3 * DAY };
  const spans: (TestSpan & { start_ms: number; end_ms: number })[] = [root];
  for (const { parent, offset, length } of list) {
    const above = spans[parent % spans.length] ?? root;
    const room = above.end_ms - above.start_ms;
    const start_ms = above.start_ms + Math.floor((room * offset) / 1000);
    const end_ms = start_ms + Math.max(1, Math.floor(((above.end_ms - start_ms) * length) / 1000));
    const name = `n${spans.length}`;
    spans.push({ trace, id: hexId(8), parent: above.id, name, start_ms, end_ms });
  }
  return spans;
}

/** Returns the tree that a query returns, with names instead of ids. */
function shapeOf(runs: Map<string, ReadRun>) {
  const names = new Map([...runs.values()].map((run) => [run.id, run.name]));
  const nameOf = (id: unknown) => (id === null ? null : (names.get(String(id)) ?? "missing"));
  return [...runs.values()]
    .map((run) => ({
      name: run.name,
      root: nameOf(run.trace_id),
      parent: nameOf(run.parent_run_id),
      above: (run.parent_run_ids as string[]).map(nameOf),
      is_root: run.is_root,
      has_order: run.dotted_order !== null,
    }))
    .toSorted((a, b) => (String(a.name) < String(b.name) ? -1 : 1));
}

function shapeOfSpans(spans: TestSpan[]) {
  const above = ({ parent }: TestSpan): TestSpan[] => {
    const next = spans.find(({ id }) => id === parent);
    return next === undefined ? [] : [...above(next), next];
  };
  return spans
    .map((span) => ({
      name: span.name,
      root: "n0",
      parent: above(span).at(-1)?.name ?? null,
      above: above(span).map(({ name }) => name),
      is_root: span.parent === undefined,
      has_order: true,
    }))
    .toSorted((a, b) => (String(a.name) < String(b.name) ? -1 : 1));
}

/** Returns the names from the root to each run of a trace, as its order and its parent have them. */
async function pathsOf(trace: string): Promise<string[]> {
  const id = trace.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  const answer = await api(`/api/v2/traces/${id}/runs`, { key: ours.viewer });
  const lines = (await answer.text()).trimEnd().split("\n");
  const runs = lines.slice(0, -1).map((line) => JSON.parse(line) as ReadRun);
  const names = new Map(runs.map((run) => [String(run.id), String(run.name)]));
  return runs
    .map(({ dotted_order, parent_run_id }) => {
      const ids = String(dotted_order)
        .split(".")
        .map((part) => part.slice(-36));
      const parent = ids.at(-2) ?? null;
      return parent === parent_run_id
        ? ids.map((one) => names.get(one)).join(".")
        : "another parent";
    })
    .toSorted();
}

function pathsOfSpans(spans: TestSpan[]): string[] {
  const paths = new Map<string, string>();
  for (const { id, parent, name } of spans) {
    paths.set(id, parent === undefined ? `${name}` : `${paths.get(parent)}.${name}`);
  }
  return [...paths.values()].toSorted();
}

let projects = 0;

/** Stores spans in a new project. */
async function store(requests: TestSpan[][]): Promise<string> {
  const project = `order-${projects++}`;
  for (const spans of requests) {
    const answer = await sendSpans(toProtobuf(spans), { key: ours.editor, project });
    expect([answer.status, (await answer.bytes()).length]).toEqual([200, 0]);
  }
  return project;
}

async function stored(requests: TestSpan[][]) {
  const project = await store(requests);
  return runsByName(ours.viewer, (await projectId(ours.viewer, project)) ?? "");
}

function split(spans: TestSpan[], sizes: number[]): TestSpan[][] {
  const requests: TestSpan[][] = [];
  for (let at = 0, n = 0; at < spans.length; n++) {
    const size = (sizes[n % sizes.length] ?? 1) || 1;
    requests.push(spans.slice(at, at + size));
    at += size;
  }
  return requests;
}

const NOON = Math.floor(Date.now() / DAY) * DAY - 5 * DAY + DAY / 2;

describe("spans in any order", () => {
  test("become the tree that their parents describe, on one day and across days", async () => {
    const order = fc.record({
      list: nodes,
      shuffle: fc.array(fc.nat(), { minLength: 10, maxLength: 10 }),
      sizes: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 3 }),
      again: fc.boolean(),
    });
    const property = fc.asyncProperty(order, async ({ list, shuffle, sizes, again }) => {
      const spans = toSpans(list, NOON);
      const keyed = spans.map((span, n) => ({ span, key: shuffle[n] ?? 0 }));
      const shuffled = keyed.toSorted((a, b) => a.key - b.key).map(({ span }) => span);
      const requests = split(shuffled, sizes);
      const runs = await stored(again ? [...requests, ...requests.toReversed()] : requests);
      expect(shapeOf(runs)).toEqual(shapeOfSpans(spans));
    });
    await fc.assert(property, { numRuns: 25 });
  }, 120_000);

  test("become one tree of 5,000, whatever their order, their requests and their repetitions", async () => {
    for (let seed = 1; seed <= ORDERS; seed++) {
      const draws = fc.sample(fc.nat(), { numRuns: 3 * MANY, seed });
      const draw = () => draws.pop() ?? 0;
      const list = Array.from({ length: MANY - 1 }, () => {
        return { parent: draw(), offset: draw() % 1000, length: 1 + (draw() % 1000) };
      });
      const spans = toSpans(list, NOON);
      const [keys] = fc.sample(fc.array(fc.nat(), { minLength: MANY, maxLength: MANY }), {
        numRuns: 1,
        seed,
      });
      const shuffled = spans
        .map((span, n) => ({ span, key: keys?.[n] ?? 0 }))
        .toSorted((a, b) => a.key - b.key)
        .map(({ span }) => span);
      const requests = split(
        shuffled,
        fc.sample(fc.integer({ min: 1, max: 900 }), { numRuns: 5, seed }),
      );
      // Reads a trace in one call: pages of a hundred orders exceed the rate of reads.
      await store([...requests, ...requests.slice(0, 3)]);
      expect(await pathsOf(spans[0]?.trace ?? "")).toEqual(pathsOfSpans(spans));
    }
  }, 120_000);

  test("are forgotten with their trace", async () => {
    const spans = toSpans([{ parent: 0, offset: 1, length: 500 }], NOON);
    const [root, child] = spans;
    if (!root || !child) throw new Error("no spans");
    const runs = await stored([[root, child]]);
    const session_id = String(runs.get("n0")?.session_id);
    const json = { session_id, trace_ids: [runs.get("n0")?.id] };
    expect((await api("/runs/delete", { key: ours.admin, json })).status).toBe(200);
    const project = `order-${projects - 1}`;
    await sendSpans(toProtobuf([child]), { key: ours.editor, project });
    const left = await runsByName(ours.viewer, session_id);
    expect([...left.values()]).toMatchObject([{ name: "n1", dotted_order: null, is_root: false }]);
  });
});
