import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { UsageDay } from "../../../src/control-plane/usage/usage-schema.ts";
import { bulk_export_files } from "../../../src/exports/table.ts";
import { database } from "../../../src/shared/context.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { ordered } from "../../exports/support/exports.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";
import { batch, wireRun } from "../../traces/support/runs.ts";

const today = () => new Date().toISOString().slice(0, 10);

async function usage({ admin }: TestWorkspace, query = ""): Promise<UsageDay[]> {
  const response = await api(`/v1/usage${query}`, { key: admin });
  if (response.status !== 200) throw new Error(await response.text());
  return (await response.json<{ days: UsageDay[] }>()).days;
}

async function usageToday(ours: TestWorkspace): Promise<UsageDay | undefined> {
  return (await usage(ours)).find(({ date }) => date === today());
}

test("runs of agents are counted on the day of their end, for their workspace only", async () => {
  const [ours, theirs] = [await workspace(), await workspace()];
  const { deployment_id } = await testDeployment(ours.workspace_id);
  const path = `/agents/${deployment_id}/runs/wait`;
  for (let n = 0; n < 3; n++) {
    const json = { assistant_id: "steps", input: { delay_ms: 20 } };
    expect((await api(path, { key: ours.editor, json })).status).toBe(200);
  }
  await eventually(async () => expect((await usageToday(ours))?.runs).toBe(3), { interval: 200 });
  expect((await usageToday(ours))?.run_seconds).toBeGreaterThan(0.06);
  expect((await usageToday(theirs))?.runs).toBe(0);
});

test("traces are counted on the day of their start", async () => {
  const ours = await workspace();
  const root = wireRun("used");
  const child = { parent_run_id: root.id, trace_id: root.id };
  const answer = await batch(ours.editor, [
    root,
    { ...wireRun("used", child), dotted_order: undefined },
    wireRun("used", {}, { at: Date.parse("2026-03-04T05:06:07Z") }),
  ]);
  expect(answer.status).toBe(202);
  await eventually(async () => expect((await usageToday(ours))?.spans).toBe(2), { interval: 200 });
  expect((await usageToday(ours))?.trace_bytes).toBeGreaterThan(0);
  // Each partition writes its counts when it likes.
  await eventually(async () => {
    const [day, ...others] = await usage(ours, "?from=2026-03-04&to=2026-03-04");
    expect(day).toMatchObject({ date: "2026-03-04", traces: 1, spans: 1 });
    expect(others).toEqual([]);
  });
});

test("completed files of exports are counted on the day they were written", async () => {
  const ours = { ...(await workspace()), destination_id: newId() };
  const [start_time, end_time] = ["2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z"];
  const { id: bulk_export_id } = await ordered(ours, newId(), { start_time, end_time });
  const file = (status: "COMPLETED" | "FAILED", number: number, finished_at: string) => ({
    ...{ id: newId(), bulk_export_id, workspace_id: ours.workspace_id, number, key: newId() },
    ...{ chunk: { day: "2026-02-01", slot: 0 } as never, rows_planned: 10, status, token: 1 },
    ...{ retry_number: 0, retry_limit: 3, rows_written: 10, bytes_written: 500 },
    ...{ finished_at, updated_at: finished_at },
  });
  await database(env)
    .insert(bulk_export_files)
    .values([
      file("COMPLETED", 0, "2026-02-03T23:59:59.999Z"),
      file("COMPLETED", 1, "2026-02-04T00:00:00.000Z"),
      file("COMPLETED", 2, "2026-02-04T12:00:00.000Z"),
      file("FAILED", 3, "2026-02-04T12:00:00.000Z"),
    ]);
  const days = await usage(ours, "?from=2026-02-03&to=2026-02-05");
  const exports = days.map(({ date, export_files, export_rows, export_bytes }) => [
    ...[date, export_files, export_rows, export_bytes],
  ]);
  expect(exports).toEqual([
    ["2026-02-03", 1, 10, 500],
    ["2026-02-04", 2, 20, 1000],
    ["2026-02-05", 0, 0, 0],
  ]);
});

test("the range has a default of thirty days and a limit", async () => {
  const ours = await workspace();
  const days = await usage(ours);
  expect([days.length, days.at(-1)?.date]).toEqual([30, today()]);
  expect(await usage(ours, "?from=2025-01-01&to=2026-01-01")).toHaveLength(366);
  const refusals = [
    ["?from=2024-12-31&to=2026-01-01", "365 days"],
    ["?from=2026-01-02&to=2026-01-01", "must not be after `to`"],
    ["?from=2026-02-30", "must be a day such as"],
    ["?to=yesterday", "must be a day such as"],
  ] as const;
  for (const [query, text] of refusals) {
    const response = await api(`/v1/usage${query}`, { key: ours.admin });
    expect([response.status, await response.text()]).toEqual([422, expect.stringContaining(text)]);
  }
});

test("is for admins", async () => {
  const ours = await workspace();
  for (const key of [ours.viewer, ours.editor]) {
    expect((await api("/v1/usage", { key })).status).toBe(403);
  }
});
