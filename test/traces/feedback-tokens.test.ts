import { env } from "cloudflare:workers";
import { beforeAll, expect, test } from "vitest";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { batch, idAt, read, wireRun } from "./support/runs.ts";

type Token = { id: string; url: string; expires_at: string };

let ours: TestWorkspace;
let theirs: TestWorkspace;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
});

const TOKENS = "/feedback/tokens";

function create(json: unknown, key = ours.editor) {
  return api(TOKENS, { key, json });
}

async function created(json: unknown): Promise<Token> {
  const answer = await create(json);
  expect(answer.status).toBe(200);
  return answer.json();
}

test("a token accepts feedback with one key for one run, also before the run arrives", async () => {
  const [run, other] = [wireRun("rated"), wireRun("rated")];
  const token = await created({ run_id: run.id, feedback_key: "stars" });
  const path = new URL(token.url).pathname;
  expect(path).toBe(`/api/v1/feedback/tokens/${token.id}`);
  expect((await api(path, { json: { score: 1 } })).status).toBe(404);
  await batch(ours.editor, [run, other]);
  const sent = { score: 1, comment: "good", run_id: other.id, key: "other", id: other.id };
  expect((await api(path, { json: sent })).status).toBe(200);
  expect((await api(`${path}?score=0.5`)).status).toBe(200);
  expect(await read(ours.viewer, run.id)).toMatchObject({
    feedback_stats: { stars: { n: 1, avg: 0.5 } },
  });
  expect(await read(ours.viewer, other.id)).toMatchObject({ feedback_stats: {} });
});

test("a token has the id of its feedback from the client", async () => {
  const run = wireRun("named");
  await batch(ours.editor, [run]);
  const id = idAt(Date.now());
  const token = await created({ run_id: run.id, feedback_key: "k", id });
  expect(token.id).not.toBe(id);
  await api(new URL(token.url).pathname, { json: { score: 1 } });
  const read = await api(`/feedback/${id}`, { key: ours.viewer });
  expect(await read.json()).toMatchObject({ id, key: "k", run_id: run.id });
});

test("tokens are created in a list, and listed by run until they expire", async () => {
  const run_id = idAt(Date.now());
  const requests = ["a", "b"].map((feedback_key) => ({
    run_id,
    feedback_key,
    expires_in: null,
    expires_at: null,
  }));
  const made = await (await create(requests)).json<Token[]>();
  expect(made).toHaveLength(2);
  const list = async (query: string, key = ours.editor) =>
    (await api(`${TOKENS}?run_id=${run_id}${query}`, { key })).json<Token[]>();
  expect(await list("")).toEqual(made);
  expect(await list("&limit=1&offset=1")).toEqual(made.slice(1));
  expect(await list("", theirs.admin)).toEqual([]);
  expect((await api(`${TOKENS}?run_id=${run_id}`, { key: ours.viewer })).status).toBe(403);
  const [first] = made;
  await expire(first?.expires_at ?? "", run_id);
  expect(await list("")).toEqual([]);
  const late = await api(new URL(first?.url ?? "").pathname, { json: { score: 1 } });
  expect([late.status, await late.text()]).toEqual([403, expect.stringContaining("expired")]);
  await created({ run_id: idAt(Date.now()), feedback_key: "k" });
  const rows = await env.DB.prepare("SELECT id FROM feedback_tokens WHERE run_id = ?").bind(run_id);
  expect((await rows.all()).results).toEqual([]);
});

async function expire(expires_at: string, run_id: string): Promise<void> {
  expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(10_000_000);
  await env.DB.prepare("UPDATE feedback_tokens SET expires_at = ? WHERE run_id = ?")
    .bind(new Date(Date.now() - 1).toISOString(), run_id)
    .run();
}

test("a token expires at the time of its request", async () => {
  const about = { run_id: idAt(Date.now()), feedback_key: "k" };
  const minutes = async (json: object) =>
    (Date.parse((await created({ ...about, ...json })).expires_at) - Date.now()) / 60_000;
  expect(await minutes({})).toBeCloseTo(180, 0);
  expect(await minutes({ expires_in: { days: 1, hours: 1, minutes: 1 } })).toBeCloseTo(1501, 0);
  const at = new Date(Date.now() + 7_200_000).toISOString();
  expect(await minutes({ expires_at: at })).toBeCloseTo(120, 0);
  expect(await minutes({ expires_at: at.slice(0, -1) })).toBeCloseTo(120, 0);
  const wrong = [
    { expires_in: { days: 0 } },
    { expires_in: { days: 366 } },
    { expires_at: "2020-01-01T00:00:00Z" },
    { expires_at: "soon" },
    { feedback_key: "" },
    { run_id: "none" },
  ];
  for (const json of wrong) expect((await create({ ...about, ...json })).status).toBe(422);
});

test("tokens are for editors, unknown ones are refused, and the database does not have them", async () => {
  const run_id = idAt(Date.now());
  const about = { run_id, feedback_key: "k" };
  expect((await create(about, ours.viewer)).status).toBe(403);
  const unknown = await api(`${TOKENS}/${crypto.randomUUID()}`, { json: { score: 1 } });
  expect(unknown.status).toBe(403);
  const token = await created(about);
  const rows = await env.DB.prepare("SELECT * FROM feedback_tokens WHERE run_id = ?")
    .bind(run_id)
    .all();
  expect(rows.results).toHaveLength(1);
  expect(JSON.stringify(rows.results)).not.toContain(token.id);
});
