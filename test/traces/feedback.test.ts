import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, expect, test, vi } from "vitest";
import { toFeedbackStats } from "../../src/traces/aggregates/feedback-totals.ts";
import { TracePartition } from "../../src/traces/object/object.ts";
import { FeedbackLookup } from "../../src/traces/reads/feedback-lookup.ts";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { dayAt } from "./support/expiry.ts";
import { batch, idAt, projectId, read, wireRun } from "./support/runs.ts";

type Feedback = { id: string; key: string; score: unknown };

const AT = Date.now();

let ours: TestWorkspace;
let theirs: TestWorkspace;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
});

function give(json: Record<string, unknown>, key = ours.editor) {
  return api("/feedback", { key, json });
}

async function list(query: string, key = ours.viewer) {
  return (await api(`/feedback?${query}`, { key })).json<Feedback[]>();
}

test("feedback is stored once, listed, and counted with its run", async () => {
  const run = wireRun("liked");
  await batch(ours.editor, [run]);
  const [first, second] = [idAt(Date.now()), idAt(Date.now())];
  const feedback_source = { type: "app", metadata: {} };
  for (const _ of [1, 2]) {
    const answer = await give({ id: first, run_id: run.id, key: "good", score: true });
    expect(answer.status).toBe(200);
  }
  await give({ id: second, run_id: run.id, key: "good", score: 0, value: "meh", feedback_source });
  expect(await read(ours.viewer, run.id)).toMatchObject({
    feedback_stats: { good: { n: 2, avg: 0.5, values: { meh: 1 } } },
  });
  const ids = async (query: string) => (await list(query)).map(({ id }) => id).sort();
  expect(await ids(`run=${run.id}`)).toEqual([first, second].sort());
  expect(await ids(`run=${run.id}&source=app`)).toEqual([second]);
  expect(await ids(`run=${run.id}&key=other`)).toEqual([]);
  const project = await projectId(ours.viewer, "liked");
  expect(await ids(`session=${project}`)).toEqual([first, second].sort());
});

test("texts are counted one by one, numbers and objects are not texts", async () => {
  const run = wireRun("said");
  await batch(ours.editor, [run]);
  for (const value of ["yes", "5", "yes", 5, { a: 1 }, true, null]) {
    expect((await give({ run_id: run.id, key: "k", score: 1, value })).status).toBe(200);
  }
  const counted = { k: { n: 7, avg: 1, values: { yes: 2, "5": 1 } } };
  expect((await read(ours.viewer, run.id)).feedback_stats).toEqual(counted);
  const stats = await api("/runs/stats", { key: ours.viewer, json: { id: [run.id] } });
  expect(await stats.json()).toMatchObject({ feedback_stats: counted });
});

test("long values count by their beginning, are found whole, and are not read at once", async () => {
  const runs = [wireRun("long", {}, { at: AT }), wireRun("long", {}, { at: AT })];
  await batch(ours.editor, runs);
  const values = Array.from({ length: 60 }, (_, n) => `${"v".repeat(90_000)}${n}`);
  const run_ids = values.map((_, n) => runs[n % 2]?.id);
  for (const [n, value] of values.entries()) {
    expect((await give({ run_id: run_ids[n], key: "k", value })).status).toBe(200);
  }
  const shown = (n: number) => ({ k: { n, avg: null, values: { ["v".repeat(250)]: n } } });
  const [first] = runs;
  expect((await read(ours.viewer, String(first?.id))).feedback_stats).toEqual(shown(30));
  const session = [await projectId(ours.viewer, "long")];
  const stats = await api("/runs/stats", { key: ours.viewer, json: { session } });
  expect(await stats.json()).toMatchObject({ feedback_stats: shown(60) });
  const json = { session, filter: 'like(feedback_value, "%v58")' };
  const found = await api("/runs/query", { key: ours.viewer, json });
  expect(await found.json()).toMatchObject({ runs: [{ id: first?.id }] });

  const stub = env.PARTITIONS.getByName(`${session[0]}/${dayAt(AT)}/0`);
  const reads = await runInDurableObject(stub, (_, { storage }) => {
    const cursors: [string, SqlStorageCursor<Record<string, SqlStorageValue>>][] = [];
    const exec = (query: string, ...bindings: unknown[]) => {
      const cursor = storage.sql.exec(query, ...bindings);
      cursors.push([query, cursor]);
      return cursor;
    };
    const lookup = new FeedbackLookup({ exec } as unknown as SqlStorage);
    expect(runs.map(({ id }) => lookup.mayHave(id))).toEqual([true, true]);
    expect([...lookup.of(String(first?.id))]).toHaveLength(30);
    return cursors.map(([query, { rowsRead }]) => ({ query, rowsRead }));
  });
  const [whether, all, ofRun] = reads;
  expect(whether?.query).not.toContain("value");
  expect(all?.rowsRead).toBeLessThan(50);
  expect(ofRun?.query).toContain("run_id = ?");
});

test("a value with the name of a method of objects is counted over several days", () => {
  const totals = (values: Record<string, number>) => ({
    key: "k",
    n: 1,
    scores: 0,
    sum: 0,
    values,
  });
  const days = [totals({ yes: 1 }), totals({ constructor: 1 }), totals({ constructor: 2 })];
  expect(toFeedbackStats(days).k?.values).toEqual({ yes: 1, constructor: 3 });
});

test("feedback may arrive before its run", async () => {
  await batch(ours.editor, [wireRun("soon")]);
  const run = wireRun("soon");
  const session_id = await projectId(ours.viewer, "soon");
  const early = await give({ run_id: run.id, key: "k", score: 1, session_id });
  expect(early.status).toBe(200);
  await batch(ours.editor, [run]);
  expect(await read(ours.viewer, run.id)).toMatchObject({ feedback_stats: { k: { n: 1 } } });
});

test("feedback on unknown runs or runs of other workspaces is rejected", async () => {
  const run = wireRun("private");
  await batch(ours.editor, [run]);
  const good = { run_id: run.id, key: "k", score: 1 };
  expect((await give(good, theirs.admin)).status).toBe(404);
  expect((await give(good, ours.viewer)).status).toBe(403);
  expect((await give({ ...good, run_id: idAt(Date.now()) })).status).toBe(404);
  expect((await give({ key: "k" })).status).toBe(422);
  expect((await give({ ...good, key: "k".repeat(181) })).status).toBe(422);
  expect((await give({ ...good, score: "1" })).status).toBe(422);
  await give(good);
  expect(await list(`run=${run.id}`, theirs.viewer)).toEqual([]);
  const project = await projectId(ours.viewer, "private");
  expect((await api(`/feedback?session=${project}`, { key: theirs.viewer })).status).toBe(404);
});

async function given(json: Record<string, unknown>): Promise<Feedback> {
  const answer = await give(json);
  expect(answer.status).toBe(200);
  return answer.json<Feedback>();
}

test("feedback is read, changed and deleted by its id, however old its run", async () => {
  const run = wireRun("judged", {}, { at: Date.parse("2025-01-01T12:00:00Z") });
  await batch(ours.editor, [run]);
  const first = await given({ run_id: run.id, key: "good", score: 1, comment: "yes" });
  const path = `/feedback/${first.id}`;
  const call = (method: string, key: string, json?: unknown) => api(path, { key, method, json });
  expect(await (await call("GET", ours.viewer)).json()).toEqual(first);
  for (const method of ["GET", "PATCH", "DELETE"]) {
    const json = method === "PATCH" ? { score: 0 } : undefined;
    expect((await call(method, theirs.admin, json)).status).toBe(404);
  }
  expect((await call("PATCH", ours.viewer, { score: 0 })).status).toBe(403);
  expect((await call("PATCH", ours.editor, { score: "0" })).status).toBe(422);
  const changed = await call("PATCH", ours.editor, { score: 0.25, correction: { a: "b" } });
  expect(await changed.json()).toEqual({
    ...first,
    score: 0.25,
    correction: { a: "b" },
    modified_at: expect.any(String),
  });
  expect(await read(ours.viewer, run.id)).toMatchObject({
    feedback_stats: { good: { n: 1, avg: 0.25 } },
  });
  expect((await call("DELETE", ours.viewer)).status).toBe(403);
  expect((await call("DELETE", ours.editor)).status).toBe(200);
  expect((await call("GET", ours.viewer)).status).toBe(404);
  expect((await call("DELETE", ours.editor)).status).toBe(404);
  expect(await read(ours.viewer, run.id)).toMatchObject({ feedback_stats: {} });
});

test("feedback has the time that it was sent with, which a repeated id keeps", async () => {
  const run = wireRun("timed");
  await batch(ours.editor, [run]);
  const fields = { id: idAt(Date.now()), run_id: run.id, key: "k", score: 1 };
  const created_at = "2026-02-03T04:05:06.789Z";
  const sent = { ...fields, created_at: "2026-02-03T05:05:06.789012+01:00" };
  expect(await given(sent)).toMatchObject({ created_at, modified_at: created_at });
  expect(await given({ ...fields, score: 0 })).toMatchObject({ created_at, score: 0 });
  const path = `/feedback/${fields.id}`;
  const changed = await api(path, { key: ours.editor, method: "PATCH", json: { score: 0.5 } });
  expect(await changed.json()).toMatchObject({ created_at, score: 0.5 });
  expect(await list(`run=${run.id}&max_created_at=2026-02-04T00:00:00Z`)).toMatchObject([
    { created_at, score: 0.5 },
  ]);
  for (const wrong of ["yesterday", "99999-01-01T00:00:00Z"]) {
    expect((await give({ ...fields, created_at: wrong })).status).toBe(422);
  }
});

test("pages of feedback of one time neither repeat nor lose any", async () => {
  const runs = [Date.now(), Date.now() - 3 * 86_400_000].map((at) => wireRun("even", {}, { at }));
  await batch(ours.editor, runs);
  const created_at = "2026-02-03T04:05:06.789Z";
  const sent = Array.from({ length: 8 }, (_, n) => ({ id: idAt(n), run_id: runs[n % 2]?.id }));
  for (const one of sent.toReversed()) await given({ ...one, key: "k", created_at });
  const query = runs.map(({ id }) => `run=${id}`).join("&");
  const pages = await Promise.all([0, 3, 6].map((n) => list(`${query}&limit=3&offset=${n}`)));
  expect(pages.flat().map(({ id }) => id)).toEqual(sent.map(({ id }) => id));
});

test("lists filter by fields and time of feedback", async () => {
  const run = wireRun("narrow");
  await batch(ours.editor, [run]);
  const scored = await given({ run_id: run.id, key: "a", score: 1 });
  const commented = await given({ run_id: run.id, key: "b", comment: "hm" });
  const keys = async (query: string) =>
    (await list(`run=${run.id}&${query}`)).map(({ key }) => key).sort();
  expect(await keys("has_score=true")).toEqual(["a"]);
  expect(await keys("has_score=false")).toEqual(["b"]);
  expect(await keys("has_comment=true")).toEqual(["b"]);
  expect(await keys("has_comment=false")).toEqual(["a"]);
  expect(await keys(`key=a&key=b`)).toEqual(["a", "b"]);
  expect(await keys("min_created_at=2024-01-01T00:00:00Z")).toEqual(["a", "b"]);
  expect(await keys("max_created_at=2024-01-01T00:00:00")).toEqual([]);
  expect([scored.key, commented.key]).toEqual(["a", "b"]);
});

test("feedback of a run is listed below its project alone", async () => {
  const run = wireRun("placed");
  await batch(ours.editor, [run, wireRun("elsewhere")]);
  await give({ run_id: run.id, key: "k", score: 1 });
  const [placed, elsewhere] = [
    await projectId(ours.viewer, "placed"),
    await projectId(ours.viewer, "elsewhere"),
  ];
  expect(await list(`run=${run.id}&session=${placed}`)).toHaveLength(1);
  expect(await list(`run=${run.id}&session=${elsewhere}`)).toEqual([]);
  const unknown = await api(`/feedback?run=${run.id}&session=${crypto.randomUUID()}`, {
    key: ours.viewer,
  });
  expect(unknown.status).toBe(404);
});

test("changes of different fields of feedback at the same moment are both kept", async () => {
  const run = wireRun("changed at once");
  await batch(ours.editor, [run]);
  const { id } = await (await give({ run_id: run.id, key: "k", score: 1 })).json<Feedback>();
  const change = (json: object) =>
    api(`/feedback/${id}`, { key: ours.editor, method: "PATCH", json });
  const { getFeedback } = TracePartition.prototype;
  const read = vi.spyOn(TracePartition.prototype, "getFeedback");
  const both = Promise.withResolvers<void>();
  read.mockImplementation(async function (this: TracePartition, feedback_id) {
    const row = await getFeedback.call(this, feedback_id);
    if (read.mock.calls.length === 2) both.resolve();
    await both.promise;
    return row;
  });
  const answers = await Promise.all([change({ score: 0 }), change({ comment: "bad" })]);
  read.mockRestore();
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(await list(`run=${run.id}`)).toMatchObject([{ score: 0, comment: "bad" }]);
});

test("a change of feedback that is deleted at the same moment is a 404 and brings nothing back", async () => {
  const run = wireRun("deleted at once");
  await batch(ours.editor, [run]);
  const { id } = await (await give({ run_id: run.id, key: "k", score: 1 })).json<Feedback>();
  const { getFeedback } = TracePartition.prototype;
  const read = vi.spyOn(TracePartition.prototype, "getFeedback");
  read.mockImplementationOnce(async function (this: TracePartition, feedback_id) {
    const row = await getFeedback.call(this, feedback_id);
    await api(`/feedback/${id}`, { key: ours.admin, method: "DELETE" });
    return row;
  });
  const json = { comment: "late" };
  const changed = await api(`/feedback/${id}`, { key: ours.editor, method: "PATCH", json });
  read.mockRestore();
  expect(changed.status).toBe(404);
  expect(await list(`run=${run.id}`)).toEqual([]);
});

test("feedback that is stored again after its deletion is found by its id", async () => {
  const run = wireRun("again");
  await batch(ours.editor, [run]);
  const json = { id: crypto.randomUUID(), run_id: run.id, key: "k", score: 1 };
  await give(json);
  await api(`/feedback/${json.id}`, { key: ours.admin, method: "DELETE" });
  await give(json);
  const project_id = (await projectId(ours.viewer, "again")) ?? "";
  const name = `${project_id}/${new Date(AT).toISOString().slice(0, 10)}/0`;
  const partition = env.PARTITIONS.getByName(name) as DurableObjectStub<TracePartition>;
  await runInDurableObject(partition, (object) => object.alarm());
  expect((await api(`/feedback/${json.id}`, { key: ours.viewer })).status).toBe(200);
});
