import { env } from "cloudflare:workers";
import { expect, onTestFinished, test, vi } from "vitest";
import { TracePartition } from "../../src/traces/object/object.ts";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";

const TOTALS = {
  ...{ runs: 1, errors: 0, streamed: 0, min_start_us: 0, max_start_us: 0 },
  tokens: { total_tokens: 3, prompt_tokens: 2, completion_tokens: 1 },
  costs: { total_cost: "1", prompt_cost: null, completion_cost: null },
  sketches: { latency: { values: [2_000_000] }, first_token: { values: [] } },
};
const FEEDBACK = [{ key: "good", n: 1, scores: 1, sum: 1, values: { yes: 1 } }];

/** Creates a project with rows of the catalogue, in three slots a day. They have totals at the sequence `stats_seq`. */
async function projectWith(
  { editor: key, workspace_id }: TestWorkspace,
  partitions: number,
  stats_seq: number | null,
): Promise<string> {
  const json = { name: crypto.randomUUID() };
  const { id } = await (await api("/sessions", { key, json })).json<{ id: string }>();
  const stats = stats_seq === null ? null : JSON.stringify({ totals: TOTALS, feedback: FEEDBACK });
  const numbers = JSON.stringify(Array.from({ length: partitions }, (_, n) => n));
  await env.DB.prepare(
    `INSERT INTO partitions (project_id, workspace_id, day, slot, rows, bytes, seq, roots,
       updated_at, stats, stats_seq)
     SELECT ?, ?, date('2020-01-01', (value / 3) || ' days'), value % 3, 1, 0, 5, 1, '', ?, ?
     FROM json_each(?)`,
  )
    .bind(id, workspace_id, stats, stats_seq, numbers)
    .run();
  return id;
}

function read({ viewer: key }: TestWorkspace, path: string): Promise<Response> {
  return api(`/sessions${path}include_stats=true`, { key });
}

test("statistics count all partitions of a project, and of several projects", async () => {
  const ws = await workspace();
  const ids = [await projectWith(ws, 1201, 5), await projectWith(ws, 900, 5)];
  const one = await read(ws, `/${ids[0]}?`);
  expect(await one.json()).toMatchObject({
    ...{ run_count: 1201, latency_p50: expect.closeTo(2, 1), total_tokens: 3603 },
    total_cost: "1201",
    feedback_stats: { good: { n: 1201, avg: 1, values: { yes: 1201 } } },
  });
  const several = await read(ws, "?stats_start_time=2020-01-02T00:00:00Z&");
  const projects = await several.json<{ id: string; run_count: number }[]>();
  const counts = new Map(projects.map(({ id, run_count }) => [id, run_count]));
  expect(ids.map((id) => counts.get(id))).toEqual([1198, 897]);
});

test("statistics of too many changed partitions are refused before one is read", async () => {
  const ws = await workspace();
  const id = await projectWith(ws, 5001, null);
  const totals = vi.spyOn(TracePartition.prototype, "getTraceTotals");
  onTestFinished(() => totals.mockRestore());
  const refused = await read(ws, `/${id}?`);
  expect([refused.status, await refused.text()]).toEqual([
    422,
    expect.stringContaining("stats_start_time"),
  ]);
  expect(totals).not.toHaveBeenCalled();
  const later = await read(ws, `/${id}?stats_start_time=2026-01-01T00:00:00Z&`);
  expect(await later.json()).toMatchObject({ run_count: 0 });
});
