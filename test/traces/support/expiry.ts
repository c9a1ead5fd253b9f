import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { isBeingExported } from "../../../src/exports/rows.ts";
import { consumeTraceExpiry } from "../../../src/traces/deletion/expiry.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";
import { batch, catalogue, type WireRun } from "./runs.ts";

export const DAY_MS = 86_400_000;
export const LATER_MS = 3 * 60_000;
/** Noon, so that runs a moment apart are of one day. */
export const daysAgo = (days: number) =>
  Math.floor(Date.now() / DAY_MS - days) * DAY_MS + DAY_MS / 2;

export const dayAt = (ms: number) => new Date(ms).toISOString().slice(0, 10);

export type Scene = { ours: TestWorkspace; project_id: string; name: string };

export async function scene(
  trace_tier: "shortlived" | "longlived" | null = "shortlived",
): Promise<Scene> {
  const ours = await workspace();
  const name = `p-${crypto.randomUUID()}`;
  const made = await api("/sessions", { key: ours.editor, json: { name, trace_tier } });
  return { ours, project_id: (await made.json<{ id: string }>()).id, name };
}

export async function send({ ours }: Scene, ...runs: WireRun[]): Promise<void> {
  expect((await batch(ours.editor, runs)).status).toBe(202);
}

export async function rate({ ours }: Scene, run: WireRun, fields: object = {}): Promise<void> {
  const json = { run_id: run.id, key: "k", score: 1, ...fields };
  expect((await api("/feedback", { key: ours.editor, json })).status).toBe(200);
}

export async function isStored({ ours }: Scene, run: WireRun): Promise<boolean> {
  return (await api(`/runs/${run.id}`, { key: ours.viewer })).status === 200;
}

export function stored(scene: Scene, ...runs: WireRun[]): Promise<boolean[]> {
  return Promise.all(runs.map((run) => isStored(scene, run)));
}

/** Does one step for each partition, and what the alarms have to do. */
export async function step({ project_id }: Scene, now = new Date(), on: Env = env): Promise<void> {
  for (const { day, slot } of (await catalogue(project_id)).results) {
    await consumeTraceExpiry(on, { project_id, day, slot }, isBeingExported, now);
    await runDurableObjectAlarm(env.PARTITIONS.getByName(`${project_id}/${day}/${slot}`));
  }
}

export async function expire(scene: Scene, now = new Date()): Promise<void> {
  await step(scene, now);
  await step(scene, new Date(now.getTime() + LATER_MS));
}

export async function rows(table: string, { project_id }: Scene): Promise<number> {
  const statement = env.DB.prepare(`SELECT count(*) AS n FROM ${table} WHERE project_id = ?`);
  return (await statement.bind(project_id).first<number>("n")) ?? -1;
}
