import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { isBeingExported } from "../../src/exports/rows.ts";
import { sweepExpiredTraces } from "../../src/traces/deletion/expiry.ts";
import { api } from "../support/workspace.ts";
import { DAY_MS, daysAgo, expire, type Scene, scene, send, stored } from "./support/expiry.ts";
import { catalogue, wireRun } from "./support/runs.ts";

const YEARS_LATER = new Date(Date.now() + 3000 * DAY_MS);

function hold({ ours, project_id }: Scene, legal_hold: boolean, key = ours.admin) {
  return api(`/sessions/${project_id}`, { key, method: "PATCH", json: { legal_hold } });
}

async function held(tier: "shortlived" | "longlived"): Promise<Scene> {
  const place = await scene(tier);
  expect(await (await hold(place, true)).json()).toMatchObject({ legal_hold: true });
  return place;
}

test.each(["shortlived", "longlived"] as const)(
  "nothing of a %s project on hold expires, and all of it does when the hold ends",
  async (tier) => {
    const place = await held(tier);
    const run = wireRun(place.name, {}, { at: daysAgo(20) });
    await send(place, run);
    await sweepExpiredTraces(env, YEARS_LATER, isBeingExported);
    await expire(place, YEARS_LATER);
    const [day] = (await catalogue(place.project_id)).results;
    expect(day).toMatchObject({ rows: 1, expiry_sent_at: null });
    expect(await stored(place, run)).toEqual([true]);

    expect(await (await hold(place, false)).json()).toMatchObject({ legal_hold: false });
    await expire(place, YEARS_LATER);
    expect(await stored(place, run)).toEqual([false]);
  },
);

test("nothing of a project on hold is deleted: traces by id and by metadata, feedback, the project", async () => {
  const place = await held("longlived");
  const { ours, project_id, name } = place;
  const run = wireRun(name, {}, { at: daysAgo(1) });
  const free = wireRun("free", {}, { at: daysAgo(1) });
  await send(place, run, free);
  const metadata = { user_id: "u1" };
  const score = { run_id: run.id, key: "score", score: 1 };
  const given = await api("/feedback", { key: ours.editor, json: score });
  const feedback = `/feedback/${(await given.json<{ id: string }>()).id}`;
  const answers = await Promise.all([
    api("/api/v1/runs/delete", {
      key: ours.admin,
      json: { session_id: project_id, trace_ids: [run.id] },
    }),
    api("/api/v1/runs/delete", { key: ours.admin, json: { metadata } }),
    api(feedback, { key: ours.editor, method: "DELETE" }),
    api(`/sessions/${project_id}`, { key: ours.admin, method: "DELETE" }),
  ]);
  for (const answer of answers) {
    expect([answer.status, await answer.text()]).toEqual([
      409,
      expect.stringContaining(`"${name}\\" is on legal hold`),
    ]);
  }
  expect(await stored(place, run, free)).toEqual([true, true]);
  expect((await api(feedback, { key: ours.viewer })).status).toBe(200);
});

test("admins alone begin and end a hold, and other changes leave it", async () => {
  const place = await held("longlived");
  const { ours, project_id } = place;
  expect((await hold(place, false, ours.editor)).status).toBe(403);
  const json = { description: "new", legal_hold: null };
  const changed = await api(`/sessions/${project_id}`, { key: ours.editor, method: "PATCH", json });
  expect(await changed.json()).toMatchObject({ description: "new", legal_hold: true });
});
