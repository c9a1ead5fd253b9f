import { expect, test } from "vitest";
import { api } from "../support/workspace.ts";
import {
  daysAgo,
  expire,
  LATER_MS,
  rate,
  type Scene,
  scene,
  send,
  stored,
} from "./support/expiry.ts";
import { type WireRun, wireRun } from "./support/runs.ts";

async function expiryOf({ ours }: Scene, { trace_id }: WireRun): Promise<string | null> {
  const answer = await api(`/api/v2/traces/${trace_id}/runs`, { key: ours.viewer });
  const lines = (await answer.text()).trimEnd().split("\n");
  return (JSON.parse(lines.at(-1) ?? "") as { expires_at: string | null }).expires_at;
}

test.each([
  ["a short-lived trace", "shortlived", 15],
  ["a long-lived trace", "longlived", 401],
] as const)(
  "%s is stored until its expires_at, and is deleted from then on",
  async (_, tier, days) => {
    const place = await scene(tier);
    const started = daysAgo(20);
    const run = wireRun(place.name, {}, { at: started });
    await send(place, run);
    const at = Date.parse((await expiryOf(place, run)) ?? "");
    expect((at - started) / 86_400_000).toBe(days - 0.5);
    await expire(place, new Date(at - LATER_MS - 1));
    expect(await stored(place, run)).toEqual([true]);
    await expire(place, new Date(at));
    expect(await stored(place, run)).toEqual([false]);
  },
);

test("feedback of a run moves the expires_at of its whole trace", async () => {
  const place = await scene("shortlived");
  const at = daysAgo(1);
  const root = wireRun(place.name, {}, { at });
  const child = wireRun(place.name, {}, { at: at + 1, parent: root });
  await send(place, root, child);
  const before = Date.parse((await expiryOf(place, root)) ?? "");
  await rate(place, child);
  const after = Date.parse((await expiryOf(place, root)) ?? "");
  expect((after - before) / 86_400_000).toBe(400 - 14);
});

test("a trace on legal hold has no expires_at, nor has one whose root has not arrived", async () => {
  const place = await scene("shortlived");
  const at = daysAgo(1);
  const root = wireRun(place.name, {}, { at });
  const child = wireRun(place.name, {}, { at: at + 1, parent: root });
  await send(place, child);
  expect(await expiryOf(place, root)).toBeNull();
  await send(place, root);
  expect(await expiryOf(place, root)).not.toBeNull();
  const { ours, project_id } = place;
  const hold = { key: ours.admin, method: "PATCH", json: { legal_hold: true } };
  expect((await api(`/sessions/${project_id}`, hold)).status).toBe(200);
  expect(await expiryOf(place, root)).toBeNull();
});
