import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, expect, test } from "vitest";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { batch, catalogue, projectId, wireRun } from "../traces/support/runs.ts";

type Estimate = { rows: number; bytes: number; days: number; is_exact: boolean };

const FIRST = Date.parse("2026-03-01T12:00:00Z");
const DAY = 86_400_000;
const DAYS = 45;

let ours: TestWorkspace;
let session_id: string;

beforeAll(async () => {
  ours = await workspace({ plan: "plus" });
  const days = Array.from({ length: DAYS }, (_, n) => FIRST + n * DAY);
  const runs = days.flatMap((at, n) => [
    wireRun("counted", { name: "even" }, { at }),
    wireRun("counted", { name: n % 2 ? "odd" : "even" }, { at: at + 1000 }),
  ]);
  expect((await batch(ours.editor, runs)).status).toBe(202);
  session_id = (await projectId(ours.viewer, "counted")) ?? "";
  for (const { day, slot } of (await catalogue(session_id)).results) {
    await runDurableObjectAlarm(env.PARTITIONS.getByName(`${session_id}/${day}/${slot}`));
  }
});

function estimate(json: Record<string, unknown>, key = ours.viewer): Promise<Response> {
  return api("/api/v1/bulk-exports/estimate", { key, json: { session_id, ...json } });
}

async function read(json: Record<string, unknown>): Promise<Estimate> {
  const response = await estimate(json);
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  return JSON.parse(text) as Estimate;
}

test.each([
  [{ start_time: "2026-03-01T00:00:00Z", end_time: "2026-03-04T00:00:00Z" }, 6, 3],
  [{ start_time: "2026-03-01T12:00:00.5Z", end_time: "2026-03-02T12:00:00Z" }, 1, 2],
  [{ start_time: "2026-02-01T00:00:00Z", end_time: "2026-02-02T00:00:00Z" }, 0, 1],
])("the runs of %j are counted: %i in %i days", async (range, rows, days) => {
  const found = await read(range);
  expect(found).toMatchObject({ rows, days, is_exact: true });
  expect(found.bytes > 0).toBe(rows > 0);
});

test("a filter is counted, as the export that it estimates", async () => {
  const range = { start_time: "2026-03-01T00:00:00Z", end_time: "2026-03-11T00:00:00Z" };
  expect(await read({ ...range, filter: 'eq(name, "odd")' })).toMatchObject({ rows: 5 });
});

test("of many days a sample is counted, which the answer marks", async () => {
  const found = await read({
    start_time: "2026-03-01T00:00:00Z",
    end_time: "2026-04-30T00:00:00Z",
  });
  expect(found).toMatchObject({ rows: 2 * DAYS, is_exact: false });
});

test("refuses other workspaces, ranges and filters", async () => {
  const range = { start_time: "2026-03-01T00:00:00Z", end_time: "2026-03-02T00:00:00Z" };
  const { admin } = await workspace();
  expect((await estimate(range, admin)).status).toBe(404);
  for (const wrong of [
    { end_time: "2026-02-01T00:00:00Z" },
    { end_time: "9036-01-01T00:00:00Z" },
    { filter: "eq(" },
  ]) {
    const response = await estimate({ ...range, ...wrong });
    expect([response.status, await response.text()]).toEqual([
      422,
      expect.stringMatching(/end_time|filter/),
    ]);
  }
});
