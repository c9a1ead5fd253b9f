import { env } from "cloudflare:workers";
import { expect, onTestFinished, test, vi } from "vitest";
import { ApiError, readFailure } from "../../src/console/api/errors.ts";
import { toStoppedPage } from "../../src/console/pages/traces/list/trace-row.ts";
import { jobContext } from "../../src/shared/context.ts";
import { TracePartition } from "../../src/traces/object/object.ts";
import { requestBodies } from "../../src/traces/otlp/outgoing/request-batches.ts";
import { decodeProtobuf } from "../../src/traces/otlp/protobuf.ts";
import { fillBudget } from "../support/memory-budget.ts";
import { api, workspace } from "../support/workspace.ts";
import { batch, patch, projectId, type WireRun, wireRun } from "./support/runs.ts";

type Page = { runs: { id: string; inputs: unknown }[]; cursors: { next: string | null } };

/** Rows of 720 KB: fifty of them exceed the 32 MiB of a message. */
const TEXT = "x".repeat(240_000);
const RUNS = 50;

/** Returns the ids of the runs, the oldest first. */
async function ingest(key: string, project: string): Promise<string[]> {
  const start = Date.now();
  const fields = { inputs: { TEXT }, outputs: { TEXT }, events: [{ TEXT }] };
  const runs = Array.from({ length: RUNS }, (_, n) => wireRun(project, fields, { at: start + n }));
  for (let n = 0; n < RUNS; n += 10) await batch(key, runs.slice(n, n + 10));
  return runs.map(({ id }) => id);
}

test("a page of large runs ends early, and its cursor leads to the rest", async () => {
  const { editor: key } = await workspace();
  const ids = await ingest(key, "large");
  const session = [await projectId(key, "large")];
  const found: string[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const answer = await api("/runs/query", { key, json: { session, cursor, order: "asc" } });
    expect(answer.status).toBe(200);
    const page: Page = await answer.json();
    found.push(...page.runs.map(({ id }) => id));
    cursor = page.cursors.next;
    pages += 1;
  } while (cursor !== null && pages < RUNS);
  expect(found).toEqual(ids);
  expect(pages).toBeGreaterThan(1);
});

test("a page whose runs are deleted while it is read has the next ones", async () => {
  const { editor: key } = await workspace();
  const start = Date.now();
  const runs = [0, 1, 2].map((n) => wireRun("emptied", {}, { at: start + n }));
  await batch(key, runs);
  const json = { session: [await projectId(key, "emptied")], order: "asc", limit: 2 };
  const deleted = { runs: [], feedback: [], values: [], read: 2 };
  const read = vi.spyOn(TracePartition.prototype, "getRuns").mockResolvedValueOnce(deleted);
  const page: Page = await (await api("/runs/query", { key, json })).json();
  read.mockRestore();
  expect(page).toMatchObject({ runs: [{ id: runs[2]?.id }], cursors: { next: null } });
});

test("runs named by id are returned without one that is deleted while they are read", async () => {
  const { editor: key } = await workspace();
  const runs = [wireRun("lost"), wireRun("lost")];
  await batch(key, runs);
  const ids = runs.map(({ id }) => id);
  const { getRuns } = TracePartition.prototype;
  const read = vi.spyOn(TracePartition.prototype, "getRuns");
  read.mockImplementation(async function (this: TracePartition, of, columns) {
    const found = await getRuns.call(this, of, columns);
    return { ...found, runs: found.runs.filter(({ id }) => id !== ids[0]) };
  });
  onTestFinished(() => read.mockRestore());
  const answer = await api("/runs/query", { key, json: { id: ids, select: ["inputs"] } });
  expect(await answer.json()).toMatchObject({ runs: [{ id: ids[1] }] });
});

test("changes of large runs are listed by page, each once", async () => {
  const { editor: key } = await workspace();
  await batch(key, [wireRun("changed")]);
  const project_id = await projectId(key, "changed");
  const changes = async (cursor: string | null) => {
    const json = { project_id, cursor, selects: ["INPUTS", "OUTPUTS", "EVENTS"] };
    const answer = await api("/api/v2/runs/changes", { key, json });
    expect(answer.status).toBe(200);
    return answer.json<{ items: { id: string }[]; next_cursor: string; has_more: boolean }>();
  };
  const { next_cursor } = await changes(null);
  const ids = await ingest(key, "changed");
  const found: string[] = [];
  let page = await changes(next_cursor);
  for (let pages = 1; page.has_more && pages < RUNS; pages++) {
    found.push(...page.items.map(({ id }) => id));
    page = await changes(page.next_cursor);
  }
  found.push(...page.items.map(({ id }) => id));
  expect(found.filter((id) => ids.includes(id)).sort()).toEqual(ids.sort());
});

test("runs named by id are refused with the remedy where they do not fit an answer", async () => {
  const { editor: key } = await workspace();
  const ids = await ingest(key, "named");
  const answer = await api("/runs/query", { key, json: { id: ids } });
  expect([answer.status, await answer.text()]).toEqual([413, expect.stringContaining("fewer ids")]);
  const some = await api("/runs/query", { key, json: { id: ids.slice(0, 15) } });
  const page: Page = await some.json();
  expect(page.runs.map(({ id }) => id).sort()).toEqual(ids.slice(0, 15).sort());
  expect(page.runs.every(({ inputs }) => JSON.stringify(inputs).includes(TEXT))).toBe(true);
  const narrow = await api("/runs/query", { key, json: { id: ids, select: ["name"] } });
  expect((await narrow.json<Page>()).runs).toHaveLength(RUNS);
});

test("payloads of a run that exceed an answer are refused, and read one by one", async () => {
  const { editor: key } = await workspace();
  const half = "x".repeat(13 * 1024 * 1024);
  const run = wireRun("huge", { inputs: { half } });
  expect((await batch(key, [run])).status).toBe(202);
  expect((await patch(key, run.id, { outputs: { half } })).status).toBe(202);
  const { id } = run;
  const query = (select: string[]) => api("/runs/query", { key, json: { id: [id], select } });
  const paged = { key, json: { session: [await projectId(key, "huge")] } };
  const all = [
    await api(`/runs/${id}`, { key }),
    await api(`/api/v2/runs/${id}`, { key }),
    await query(["inputs", "outputs"]),
    await api("/runs/query", paged),
  ];
  for (const answer of all) {
    const text = await answer.text();
    expect([answer.status, text]).toEqual([413, expect.stringContaining("select fewer of inputs")]);
  }
  const [found] = (await (await query(["outputs"])).json<{ runs: { outputs: unknown }[] }>()).runs;
  expect(found?.outputs).toEqual({ half });
  const one = await api(`/api/v2/runs/${id}?selects=INPUTS`, { key });
  expect(await one.json()).toEqual({ id, inputs: { half } });
});

test("a client pages past a run whose payloads exceed an answer, with the cursor in the error", async () => {
  const { editor: key } = await workspace();
  const half = "x".repeat(13 * 1024 * 1024);
  const start = Date.now();
  const [first, huge, last] = ["first", "huge", "last"].map((name, n) =>
    wireRun("past", { name }, { at: start + n }),
  ) as [WireRun, WireRun, WireRun];
  await batch(key, [first, last]);
  const project_id = await projectId(key, "past");
  const cursorOf = async (answer: Response) => {
    const text = await answer.text();
    expect([answer.status, text]).toEqual([413, expect.stringMatching(/send the cursor [\w-]+"/)]);
    return /send the cursor ([\w-]+)"/.exec(text)?.[1];
  };
  const changes = (cursor: string | null | undefined) =>
    api("/api/v2/runs/changes", {
      key,
      json: { project_id, cursor, selects: ["INPUTS", "OUTPUTS"] },
    });
  const { next_cursor } = await (await changes(null)).json<{ next_cursor: string }>();
  await batch(key, [{ ...huge, inputs: { half } }]);
  await patch(key, huge.id, { outputs: { half } });
  const query = async (cursor: string | null | undefined) =>
    api("/runs/query", { key, json: { session: [project_id], order: "asc", cursor } });
  const page: Page = await (await query(null)).json();
  expect(page.runs.map(({ id }) => id)).toEqual([first.id]);
  const rest: Page = await (await query(await cursorOf(await query(page.cursors.next)))).json();
  expect([rest.runs.map(({ id }) => id), rest.cursors.next]).toEqual([[last.id], null]);
  const changed = await changes(await cursorOf(await changes(next_cursor)));
  expect(await changed.json()).toMatchObject({ items: [], has_more: false });
});

test("spans of a trace are sent beyond a run whose payloads exceed an answer", async () => {
  const { editor: key, workspace_id } = await workspace();
  const half = "x".repeat(13 * 1024 * 1024);
  const start = Date.now();
  const root = wireRun("sent", { inputs: { half } }, { at: start });
  const child = wireRun("sent", {}, { at: start + 1, parent: root });
  await batch(key, [root]);
  await patch(key, root.id, { outputs: { half } });
  await batch(key, [child]);
  const ctx = jobContext(env, workspace_id, "otlp");
  const bodies: Uint8Array[] = [];
  for await (const body of requestBodies(ctx, root.id, {})) bodies.push(body);
  const spans = bodies.flatMap((body) => decodeProtobuf(body).spans);
  const texts = spans.map(({ attributes }) => Object.fromEntries(attributes)["gen_ai.prompt"]);
  expect(texts).toEqual([expect.stringContaining("too large"), '{"question":"why"}']);
});

test("spans are sent without the events of their runs, which no span has", async () => {
  const { editor: key, workspace_id } = await workspace();
  const half = "x".repeat(13 * 1024 * 1024);
  const root = wireRun("sent", { events: [{ half }] });
  await batch(key, [root]);
  await patch(key, root.id, { outputs: { half } });
  const ctx = jobContext(env, workspace_id, "otlp");
  const bodies: Uint8Array[] = [];
  for await (const body of requestBodies(ctx, root.id, {})) bodies.push(body);
  const [span] = bodies.flatMap((body) => decodeProtobuf(body).spans);
  expect(Object.fromEntries(span?.attributes ?? [])["gen_ai.prompt"]).toBe('{"question":"why"}');
});

test("a search that reaches its limit without a run is refused with the cursor to continue", async () => {
  const { editor: key } = await workspace();
  const start = Date.now();
  const runs = [0, 1].map((n) => wireRun("endless", {}, { at: start + n }));
  await batch(key, runs);
  const [older, newer] = runs as [WireRun, WireRun];
  const session = [await projectId(key, "endless")];
  const query = (cursor?: string) =>
    api("/runs/query", { key, json: { session, query: "why", cursor } });
  const next = { start_us: (start + 1) * 1000 + 1, id: newer.id };
  const stopped = { runs: [], feedback: [], values: [], seq: 1, next };
  const find = vi.spyOn(TracePartition.prototype, "findRuns").mockResolvedValue(stopped);
  const answer = await query();
  const calls = find.mock.calls.length;
  const listed = await api(`/api/v2/traces/${older.id}/runs?project_id=${session[0]}`, { key });
  find.mockRestore();
  const { detail } = await listed.json<{ detail: string }>();
  expect([listed.status, detail]).toEqual([413, expect.stringContaining("narrow it with filter")]);
  expect(detail).not.toContain("cursor");
  const failure = await readFailure(answer);
  expect([answer.status, calls]).toEqual([413, 100]);
  const { cursors, stopped: text } = toStoppedPage(new ApiError("/runs/query", answer, failure));
  expect(text).toMatch(/no run up to .* its filter\.$/);
  const cursor = cursors.next ?? undefined;
  const page: Page = await (await query(cursor)).json();
  expect([page.runs.map(({ id }) => id), page.cursors.next]).toEqual([[older.id], null]);
});

test("stored payloads are loaded once the isolate has room, small ones at once", async () => {
  const { editor: key } = await workspace();
  const [large, small] = [wireRun("room", { inputs: { TEXT: TEXT + TEXT } }), wireRun("room")];
  await batch(key, [large, small]);
  const release = await fillBudget();
  const ends: string[] = [];
  const read = async ({ id }: { id: string }, name: string) => {
    expect((await api(`/runs/${id}`, { key })).status).toBe(200);
    ends.push(name);
  };
  const waiting = read(large, "large");
  for (let n = 0; n < 3; n++) await read(small, "small");
  expect(ends).toEqual(["small", "small", "small"]);
  await release();
  await waiting;
  expect(ends).toContain("large");
});

test("a page of large feedback is whole", async () => {
  const { editor: key } = await workspace();
  const run = wireRun("rated");
  await batch(key, [run]);
  const comment = `${"é".repeat(90_000)}\u{1f600}`;
  const json = { run_id: run.id, key: "k", comment };
  const given = Array.from({ length: 110 }, () => api("/feedback", { key, json }));
  for (const answer of await Promise.all(given)) expect(answer.status).toBe(200);
  const ids = async (query: string) => {
    const answer = await api(`/feedback?run=${run.id}&${query}`, { key });
    expect(answer.status).toBe(200);
    return (await answer.json<{ id: string }[]>()).map(({ id }) => id);
  };
  const [first, rest] = [await ids("limit=100"), await ids("limit=100&offset=100")];
  expect(new Set([...first, ...rest]).size).toBe(110);
});

/** Rows of 59 KB: all of them exceed the 32 MiB of a message. */
async function ingestDeep(key: string, project: string) {
  const root = wireRun(project);
  const inner = wireRun(project);
  const path = [root.dotted_order, ...Array<string>(1000).fill(inner.dotted_order)];
  const bottom = { ...inner, trace_id: root.id, dotted_order: path.join(".") };
  const runs = Array.from({ length: 600 }, () => wireRun(project, {}, { parent: bottom }));
  await batch(key, [root]);
  for (let n = 0; n < runs.length; n += 100) {
    expect((await batch(key, runs.slice(n, n + 100))).status).toBe(202);
  }
  return { root, runs };
}

test("pages of a deep tree end early, and their cursors lead to the rest", async () => {
  const { editor: key } = await workspace();
  await batch(key, [wireRun("deeper")]);
  const project_id = await projectId(key, "deeper");
  type Page = { items: { id: string }[]; next_cursor: string | null; has_more: boolean };
  const readPage = async (path: string, json: object) => {
    const answer = await api(path, { key, json: { ...json, page_size: 1000 } });
    expect(answer.status).toBe(200);
    return answer.json<Page>();
  };
  const readAll = async (path: string, json: object, cursor: string | null) => {
    const found: string[] = [];
    for (let page: Page | null = null; page?.has_more !== false && found.length <= 602; ) {
      page = await readPage(path, { ...json, cursor: page?.next_cursor ?? cursor });
      expect(page.items.length).toBeLessThan(600);
      found.push(...page.items.map(({ id }) => id));
    }
    return found;
  };
  const changes = "/api/v2/runs/changes";
  const { next_cursor } = await readPage(changes, { project_id });
  const { root, runs } = await ingestDeep(key, "deeper");
  const ids = [root, ...runs].map(({ id }) => id).sort();
  const queried = await readAll("/api/v2/runs/query", { project_ids: [project_id] }, null);
  expect(new Set(queried).size).toBe(queried.length);
  expect(queried.filter((id) => ids.includes(id)).sort()).toEqual(ids);
  const changed = await readAll(changes, { project_id }, next_cursor);
  expect(changed.filter((id) => ids.includes(id)).sort()).toEqual(ids);
});

test("a run shows the ids of a deep tree below it", async () => {
  const { editor: key } = await workspace();
  const { root, runs } = await ingestDeep(key, "deep");
  const answer = await api(`/runs/${root.id}`, { key });
  expect(answer.status).toBe(200);
  const { child_run_ids } = await answer.json<{ child_run_ids: string[] }>();
  expect(child_run_ids.toSorted()).toEqual(runs.map(({ id }) => id).sort());
});
