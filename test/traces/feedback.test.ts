import { beforeAll, expect, test } from "vitest";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { batch, idAt, projectId, read, wireRun } from "./support/runs.ts";

type Feedback = { id: string; key: string; score: unknown };

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

test("feedback is kept once, listed, and counted with its run", async () => {
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

test("feedback may come before its run", async () => {
  await batch(ours.editor, [wireRun("soon")]);
  const run = wireRun("soon");
  const session_id = await projectId(ours.viewer, "soon");
  const early = await give({ run_id: run.id, key: "k", score: 1, session_id });
  expect(early.status).toBe(200);
  await batch(ours.editor, [run]);
  expect(await read(ours.viewer, run.id)).toMatchObject({ feedback_stats: { k: { n: 1 } } });
});

test("feedback on what is not there, or not ours, is refused", async () => {
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
