import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, onTestFinished, test } from "vitest";
import { consumeProjectDeletion } from "../../src/traces/deletion/project-deletion.ts";
import { api } from "../support/workspace.ts";
import { dayAt, daysAgo, rows, type Scene, scene, send, step } from "./support/expiry.ts";
import { catalogue, idAt, type WireRun, wireRun } from "./support/runs.ts";

const OTHERS = 300;
/** Statements that read more than this read tokens of other runs. */
const FEW = 20;

/** Counts the rows that statements on tokens of a workspace read. Objects share the isolate. */
function countTokenReads(workspace_id: string) {
  const counted = { rows: 0 };
  const prototype = Object.getPrototypeOf(env.DB.prepare("SELECT 1"));
  const originals = { run: prototype.run, raw: prototype.raw };
  const isCounted = (statement: object) =>
    String(Reflect.get(statement, "statement")).includes("feedback_tokens") &&
    JSON.stringify(Reflect.get(statement, "params")).includes(workspace_id);
  prototype.run = async function (...args: unknown[]) {
    const result = await originals.run.apply(this, args);
    if (isCounted(this)) counted.rows += result.meta.rows_read;
    return result;
  };
  prototype.raw = async function (...args: unknown[]) {
    if (isCounted(this)) counted.rows += (await originals.run.apply(this)).meta.rows_read;
    return originals.raw.apply(this, args);
  };
  const batches = Object.getPrototypeOf(env.DB);
  const { batch } = batches;
  batches.batch = async function (statements: object[]) {
    const results: D1Result[] = await batch.call(this, statements);
    const isOurs = statements.some(isCounted);
    if (isOurs) for (const { meta } of results) counted.rows += meta.rows_read;
    return results;
  };
  onTestFinished(() => {
    Object.assign(prototype, originals);
    Object.assign(batches, { batch });
  });
  return counted;
}

async function addTokens({ ours }: Scene, run_ids: string[]): Promise<void> {
  const at = new Date(Date.now() + 3_600_000).toISOString();
  await env.DB.prepare(
    `INSERT INTO feedback_tokens
       (id, token_hash, workspace_id, run_id, key, feedback_id, expires_at, created_at)
     SELECT value, value, ?, value, 'k', value, ?, ? FROM json_each(?)`,
  )
    .bind(ours.workspace_id, at, at, JSON.stringify(run_ids))
    .run();
}

async function tokenRuns({ ours }: Scene): Promise<string[]> {
  const statement = env.DB.prepare("SELECT run_id FROM feedback_tokens WHERE workspace_id = ?");
  const { results } = await statement.bind(ours.workspace_id).all<{ run_id: string }>();
  return results.map(({ run_id }) => run_id).sort();
}

async function annotated(): Promise<{ one: Scene; root: WireRun; others: string[] }> {
  const one = await scene();
  const root = wireRun(one.name, {}, { at: daysAgo(20) });
  const child = wireRun(one.name, { id: crypto.randomUUID() }, { at: daysAgo(20), parent: root });
  await send(one, root, child);
  const others = Array.from({ length: OTHERS }, () => idAt(Date.now())).sort();
  await addTokens(one, [root.id, child.id, ...others]);
  return { one, root, others };
}

async function runAlarms({ project_id }: Scene): Promise<void> {
  for (const { day, slot } of (await catalogue(project_id)).results) {
    await runDurableObjectAlarm(env.PARTITIONS.getByName(`${project_id}/${day}/${slot}`));
  }
}

async function deleteTrace(one: Scene, root: WireRun): Promise<void> {
  const json = { session_id: one.project_id, trace_ids: [root.id] };
  expect((await api("/runs/delete", { key: one.ours.admin, json })).status).toBe(200);
  await runAlarms(one);
}

async function deleteProject({ ours, project_id }: Scene): Promise<void> {
  const call = { key: ours.admin, method: "DELETE" };
  expect((await api(`/sessions/${project_id}`, call)).status).toBe(202);
  await consumeProjectDeletion(env, { project_id });
}

test.each([
  ["a trace", deleteTrace],
  ["a project", deleteProject],
  ["a day that expires", (one: Scene) => step(one)],
])("deletion of %s reads the feedback tokens of its runs only", async (_, remove) => {
  const { one, root, others } = await annotated();
  const counted = countTokenReads(one.ours.workspace_id);
  await remove(one, root);
  expect(counted.rows).toBeLessThan(FEW);
  expect(counted.rows).toBeGreaterThan(0);
  expect(await tokenRuns(one)).toEqual(others);
});

test("deletion names no run in a workspace without links", async () => {
  const one = await scene();
  const root = wireRun(one.name, {}, { at: daysAgo(20) });
  const children = Array.from({ length: 2 * FEW }, (_, n) =>
    wireRun(one.name, {}, { at: daysAgo(20) + n, parent: root }),
  );
  await send(one, root, ...children);
  const counted = countTokenReads(one.ours.workspace_id);
  await deleteTrace(one, root);
  expect(counted.rows).toBeLessThan(FEW);
});

test("a token reads no other tokens of its workspace when it is created", async () => {
  const { one, root } = await annotated();
  const counted = countTokenReads(one.ours.workspace_id);
  const token = { key: one.ours.editor, json: { run_id: root.id, feedback_key: "k" } };
  expect((await api("/feedback/tokens", token)).status).toBe(200);
  expect(counted.rows).toBeLessThan(FEW);
});

test("a trace that arrives during a step of expiry leaves neither share link nor token", async () => {
  const one = await scene();
  const [early, late] = [0, 1].map(() => wireRun(one.name, {}, { at: daysAgo(20) }));
  const share = async (run: WireRun) => {
    await send(one, run);
    await addTokens(one, [run.id]);
    const call = { key: one.ours.admin, method: "PUT" };
    expect((await api(`/runs/${run.id}/share`, call)).status).toBe(200);
  };
  await share(early as WireRun);
  const name = `${one.project_id}/${dayAt(daysAgo(20))}/0`;
  const stub = env.PARTITIONS.getByName(name) as unknown as Record<string, () => Promise<object>>;
  let arrivals = 0;
  const expireTraces = async (...args: []) => {
    if (arrivals++ === 0) await share(late as WireRun);
    return stub.expireTraces?.(...args);
  };
  const getByName = () => ({
    expireTraces,
    listExpiring: (...args: []) => stub.listExpiring?.(...args),
  });
  await step(one, new Date(), { ...env, PARTITIONS: { getByName } } as unknown as Env);
  expect([arrivals, await rows("trace_shares", one), await tokenRuns(one)]).toEqual([1, 0, []]);
});

test("a trace that is created again during its deletion keeps its new links", async () => {
  const { one, root, others } = await annotated();
  const json = { session_id: one.project_id, trace_ids: [root.id] };
  expect((await api("/runs/delete", { key: one.ours.admin, json })).status).toBe(200);
  await send(one, root);
  const call = { key: one.ours.admin, method: "PUT" };
  expect((await api(`/runs/${root.id}/share`, call)).status).toBe(200);
  await runAlarms(one);
  expect(await rows("trace_shares", one)).toBe(1);
  expect(await tokenRuns(one)).toEqual([root.id, ...others].sort());
});
