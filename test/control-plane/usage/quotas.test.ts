import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { Quota } from "../../../src/control-plane/quotas/quota-schema.ts";
import { assertQuota, RUN_METERS } from "../../../src/control-plane/quotas/quota-service.ts";
import { jobContext } from "../../../src/shared/context.ts";
import { exporter } from "../../exports/support/exports.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";
import { batch, projectId, wireRun } from "../../traces/support/runs.ts";

const PATH = "/v1/quotas";
/** A push each ten seconds, and ten seconds of the check's cache; slow machines need more. */

type Setting = Pick<Quota, "meter" | "period" | "limit">;

function put(key: string, quotas: unknown): Promise<Response> {
  return api(PATH, { key, method: "PUT", json: { quotas } });
}

async function set({ admin }: TestWorkspace, ...quotas: Setting[]): Promise<Quota[]> {
  const response = await put(admin, quotas);
  expect(response.status).toBe(200);
  return (await response.json<{ quotas: Quota[] }>()).quotas;
}

async function quotasOf({ admin }: TestWorkspace): Promise<Quota[]> {
  const response = await api(PATH, { key: admin });
  return (await response.json<{ quotas: Quota[] }>()).quotas;
}

function endOf(period: "day" | "month"): string {
  const now = new Date();
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  const end = period === "day" ? [year, month, now.getUTCDate() + 1] : [year, month + 1, 1];
  return new Date(Date.UTC(...(end as [number, number, number]))).toISOString();
}

test("an admin replaces the quotas, which usage lists", async () => {
  const ours = await workspace();
  const day = { meter: "runs_created", period: "day", limit: 5 } as const;
  const month = { meter: "export_rows", period: "month", limit: 1000 } as const;
  const untouched = { set_by: "admin", used: 0 };
  const listed = [
    { ...month, ...untouched, remaining: 1000, resets_at: endOf("month") },
    { ...day, ...untouched, remaining: 5, resets_at: endOf("day") },
  ];
  expect(await set(ours, day, month)).toEqual(listed);
  const usage = await api("/v1/usage", { key: ours.admin });
  expect(await usage.json()).toMatchObject({ quotas: listed });
  expect(await set(ours, day)).toEqual([listed[1]]);
  expect(await set(ours)).toEqual([]);
  const logs = await api("/v1/audit-logs", { key: ours.admin });
  const { resources } = await logs.json<{ resources: { action: string }[] }>();
  expect(resources.map(({ action }) => action)).toEqual(Array(3).fill("setQuotas"));
});

test("invalid quotas and other roles are refused, and nothing changes", async () => {
  const ours = await workspace();
  const valid = { meter: "runs_created", period: "day", limit: 5 } as const;
  await set(ours, valid);
  const refusals = [
    [{ ...valid, meter: "runs_lost" }, "body.quotas.0.meter"],
    [{ ...valid, period: "year" }, "body.quotas.0.period"],
    [{ ...valid, limit: -1 }, "body.quotas.0.limit"],
    [{ ...valid, limit: 1.5 }, "body.quotas.0.limit"],
  ] as const;
  for (const [quota, field] of refusals) {
    const response = await put(ours.admin, [quota]);
    expect(response.status).toBe(422);
    const { detail } = await response.json<{ detail: { loc: string[] }[] }>();
    expect(detail[0]?.loc.join(".")).toBe(field);
  }
  const twice = await put(ours.admin, [valid, { ...valid, limit: 6 }]);
  expect([twice.status, await twice.text()]).toEqual([422, expect.stringContaining("not repeat")]);
  for (const key of [ours.viewer, ours.editor]) {
    expect((await put(key, [])).status).toBe(403);
    const read = await api(PATH, { key });
    expect(await read.json()).toEqual({ quotas: [expect.objectContaining(valid)] });
  }
  expect(await quotasOf(ours)).toEqual([expect.objectContaining(valid)]);
});

test("runs over a quota are refused with its name, value, end and remedy", async () => {
  const [ours, theirs] = [await workspace(), await workspace()];
  const { deployment_id } = await testDeployment(ours.workspace_id);
  const path = `/agents/${deployment_id}/threads`;
  const thread = await api(path, { key: ours.editor, json: {} });
  const { thread_id } = await thread.json<{ thread_id: string }>();
  const json = { assistant_id: "steps", input: { delay_ms: 2000 } };
  const running = api(`${path}/${thread_id}/runs/wait`, { key: ours.editor, json });
  await eventually(
    async () => {
      await set(ours, { meter: "runs_created", period: "day", limit: 1 });
      expect((await quotasOf(ours))[0]?.used).toBe(1);
      const refused = await api(`${path}/${thread_id}/runs`, { key: ours.editor, json });
      const text = `runs_created: the workspace has used 1 of its quota of 1 a day. It resets at ${endOf("day")}. An admin of the workspace can raise it with PUT /v1/quotas.`;
      expect([refused.status, await refused.text()]).toEqual([402, text]);
      expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(0);
    },
    { interval: 500 },
  );
  expect((await running).status).toBe(200);
  const { deployment_id: other } = await testDeployment(theirs.workspace_id);
  const free = await api(`/agents/${other}/runs/wait`, { key: theirs.editor, json });
  expect(free.status).toBe(200);
  await set(ours, { meter: "runs_created", period: "day", limit: 2 });
  expect((await api(`${path}/${thread_id}/runs/wait`, { key: ours.editor, json })).status).toBe(
    200,
  );
});

test("trace runs are counted when they arrive, and refused over a quota", async () => {
  const ours = await workspace();
  const old = wireRun("old", {}, { at: Date.parse("2026-03-04T05:06:07Z") });
  expect((await batch(ours.editor, [old, wireRun("new")])).status).toBe(202);
  expect((await batch(ours.editor, [], [{ id: old.id, outputs: {} }])).status).toBe(202);
  const spans = { meter: "ingested_spans", period: "month", limit: 3 } as const;
  const bytes = { meter: "ingested_bytes", period: "day", limit: 1_000_000 } as const;
  await set(ours, spans, bytes);
  await eventually(
    async () => {
      const [kept, counted] = await quotasOf(ours);
      expect(counted).toMatchObject({ meter: "ingested_spans", used: 2, remaining: 1 });
      expect(kept?.used).toBeGreaterThan(500);
    },
    { interval: 500 },
  );
  expect((await batch(ours.editor, [wireRun("new")])).status).toBe(202);
  await set(ours, { ...spans, limit: 2 });
  const refused = await batch(ours.editor, [wireRun("refused")]);
  expect([refused.status, await refused.json()]).toEqual([
    402,
    { error: expect.stringContaining("used 2 of its quota of 2 a month"), details: null },
  ]);
  const json = { resourceSpans: [] };
  const otlp = await api("/api/v1/otel/v1/traces", { key: ours.editor, json });
  expect([otlp.status, await otlp.json()]).toEqual([
    402,
    { code: 8, message: expect.stringContaining("ingested_spans: the workspace has used") },
  ]);
  expect(await projectId(ours.viewer, "refused")).toBeUndefined();
});

test("exports over a quota are refused", async () => {
  const ours = await exporter();
  expect((await batch(ours.editor, [wireRun("exported")])).status).toBe(202);
  await set(ours, { meter: "export_rows", period: "month", limit: 0 });
  const json = {
    bulk_export_destination_id: ours.destination_id,
    session_id: await projectId(ours.viewer, "exported"),
    ...{ start_time: "2026-02-01T00:00:00Z", end_time: "2026-02-02T00:00:00Z" },
  };
  const refused = await api("/api/v1/bulk-exports", { key: ours.admin, json });
  expect([refused.status, await refused.json()]).toEqual([
    402,
    { detail: expect.stringContaining("quota of 0 a month") },
  ]);
  await set(ours);
  expect((await api("/api/v1/bulk-exports", { key: ours.admin, json })).status).toBe(200);
});

test("admins cannot raise a quota of the operator", async () => {
  const ours = await workspace();
  await env.DB.prepare("INSERT INTO quotas VALUES (?, 'ingested_spans', 'day', 'operator', 0, ?)")
    .bind(ours.workspace_id, new Date().toISOString())
    .run();
  const raised = { meter: "ingested_spans", period: "day", limit: 1000 } as const;
  expect((await set(ours, raised)).map(({ set_by, limit }) => [set_by, limit])).toEqual([
    ["admin", 1000],
    ["operator", 0],
  ]);
  const json = { resourceSpans: [] };
  const refused = await api("/api/v1/otel/v1/traces", { key: ours.editor, json });
  expect([refused.status, await refused.text()]).toEqual([
    402,
    expect.stringContaining("Only the operator"),
  ]);
  await set(ours);
  expect((await quotasOf(ours)).map(({ set_by }) => set_by)).toEqual(["operator"]);
});

test("checks of an isolate read the database once, and accept work when it does not answer", async () => {
  const { workspace_id } = await workspace();
  let reads = 0;
  const failing = {
    ...jobContext(env, workspace_id, "test"),
    db: {
      select() {
        reads += 1;
        throw new Error("D1 is down");
      },
    } as never,
  };
  for (let n = 0; n < 20; n++) await assertQuota(failing, RUN_METERS);
  expect(reads).toBe(1);
});
