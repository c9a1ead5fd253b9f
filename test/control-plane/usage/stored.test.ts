import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { agentLog } from "../../../src/control-plane/deployments/logs/agent-log.ts";
import { appendLog } from "../../../src/control-plane/deployments/rollout/build-service.ts";
import { uploads } from "../../../src/control-plane/deployments/table.ts";
import type { StoredUsage } from "../../../src/control-plane/usage/usage-schema.ts";
import { database } from "../../../src/shared/context.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { deploymentRow, revisionRow } from "../../support/deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";
import { batch, postWithFiles, projectId, wireRun } from "../../traces/support/runs.ts";

const AT = Date.parse("2026-03-04T05:06:07Z");
const LONG = 300_000;
/** A payload is stored as JSON: `{"text":"..."}`. */
const JSON_BYTES = LONG + '{"text":""}'.length;
const payload = (letter: string) => ({ text: letter.repeat(LONG) });

async function stored({ admin }: TestWorkspace): Promise<StoredUsage> {
  const response = await api("/v1/usage", { key: admin });
  expect(response.status).toBe(200);
  return (await response.json<{ stored: StoredUsage }>()).stored;
}

/** The catalogue has the counts after the alarm of the partition. */
async function flushed(ours: TestWorkspace, project: string): Promise<StoredUsage> {
  const id = await projectId(ours.viewer, project);
  await runDurableObjectAlarm(env.PARTITIONS.getByName(`${id}/2026-03-04/0`));
  return stored(ours);
}

test("payloads and attachments count until their run is deleted, replaced ones included", async () => {
  const [ours, theirs] = [await workspace(), await workspace()];
  const [run, kept] = [wireRun("sizes", {}, { at: AT }), wireRun("sizes", {}, { at: AT })];
  const file = { name: "note", type: "text/plain", data: "12345" };
  expect((await postWithFiles(ours.editor, run, file)).status).toBe(202);
  await batch(ours.editor, [{ ...kept, inputs: payload("a") }]);
  await batch(ours.editor, [], [{ id: run.id, outputs: payload("b") }]);
  const first = await flushed(ours, "sizes");
  expect(first).toMatchObject({ payloads: 2 * JSON_BYTES, attachments: 5 });
  expect(first.traces).toBeGreaterThan(0);
  expect(first.total).toBe(first.traces + first.payloads + first.attachments);

  await batch(ours.editor, [], [{ id: run.id, outputs: payload("b") }]);
  expect((await flushed(ours, "sizes")).payloads).toBe(2 * JSON_BYTES);
  await batch(ours.editor, [], [{ id: run.id, outputs: payload("c") }]);
  await batch(ours.editor, [], [{ id: run.id, outputs: { short: 1 } }]);
  expect((await flushed(ours, "sizes")).payloads).toBe(3 * JSON_BYTES);

  const session_id = await projectId(ours.viewer, "sizes");
  await api("/runs/delete", { key: ours.admin, json: { session_id, trace_ids: [run.id] } });
  expect(await flushed(ours, "sizes")).toMatchObject({ payloads: JSON_BYTES, attachments: 0 });
  expect((await stored(theirs)).total).toBe(0);
});

test("uploads, artifacts and logs count with their deployment, a shared artifact once", async () => {
  const ours = await workspace();
  const { workspace_id } = ours;
  const deployment = await deploymentRow(workspace_id);
  const built = { artifact_key: "artifacts/one.json", artifact_bytes: 700 };
  await revisionRow(deployment, built);
  await revisionRow(deployment, { ...built, number: 2 });
  const building = { number: 3, status: "BUILDING", attempt: 1 } as const;
  const revision = await revisionRow(deployment, building);
  const [created_at, object_path] = [new Date().toISOString(), newId()];
  const upload = { object_path, workspace_id, deployment_id: deployment.id };
  await database(env)
    .insert(uploads)
    .values({ ...upload, bytes: 50, created_at });
  const build = { ...revision, attempt: 1 } as never;
  const line = { level: "INFO" as const, timestamp: created_at };
  await appendLog(env, build, [{ ...line, message: "é" }], new Date());
  await appendLog(env, build, [{ ...line, message: "1234" }], new Date());
  expect(await stored(ours)).toMatchObject({ uploads: 50, artifacts: 700, logs: 6, total: 756 });

  const message = "x".repeat(8000);
  const lines = Array.from({ length: 200 }, (_, n) => {
    return { revision_id: revision.id, level: "INFO" as const, message, at_us: n, key: null };
  });
  await agentLog(env, deployment.id).append(deployment.id, lines);
  expect((await stored(ours)).logs).toBeGreaterThan(1_600_000);
  expect((await stored(await workspace())).total).toBe(0);
});

test("a full workspace cannot store more, gets the remedy, and may delete", async () => {
  const ours = await workspace();
  await batch(ours.editor, [wireRun("full", { inputs: payload("a") }, { at: AT })]);
  const { payloads } = await flushed(ours, "full");
  expect(payloads).toBe(JSON_BYTES);
  const { deployment_id } = await testDeployment(ours.workspace_id);
  const { id } = await deploymentRow(ours.workspace_id, {
    source: "internal_source",
    source_config: { deployment_type: "dev" },
    source_revision_config: { langgraph_config_path: "langgraph.json" },
  });
  const limit = (value: number | null) =>
    api("/v1/quotas", {
      ...{ key: ours.admin, method: "PUT" },
      json: {
        quotas: value === null ? [] : [{ meter: "stored_bytes", period: "total", limit: value }],
      },
    });
  const set = await limit(JSON_BYTES);
  const { quotas } = await set.json<{ quotas: { used: number }[] }>();
  expect(quotas).toMatchObject([{ remaining: 0, resets_at: null, set_by: "admin" }]);

  const key = ours.editor;
  const github = { repo_url: "https://git.test/a.git", deployment_type: "dev" };
  const revision = { repo_ref: "main", langgraph_config_path: "langgraph.json" };
  const created = { name: `full-${newId()}`, source: "github", source_config: github };
  const calls = [
    () => batch(key, [wireRun("refused")]),
    () => api("/api/v1/otel/v1/traces", { key, json: { resourceSpans: [] } }),
    () => api(`/agents/${deployment_id}/runs`, { key, json: { assistant_id: "steps" } }),
    () => api(`/v2/deployments/${id}/upload-url`, { key, method: "POST" }),
    () => api("/v2/deployments", { key, json: { ...created, source_revision_config: revision } }),
    () => api(`/v2/deployments/${deployment_id}/revisions`, { key, json: {} }),
  ];
  for (const call of calls) {
    const refused = await call();
    const text = await refused.text();
    expect([refused.status, text]).toEqual([
      402,
      expect.stringMatching(/stored_bytes: .* Delete /),
    ]);
    expect(refused.headers.get("Retry-After")).toBeNull();
  }
  const json = { session_id: await projectId(ours.viewer, "full"), trace_ids: [newId()] };
  expect((await api("/runs/delete", { key: ours.admin, json })).status).toBeLessThan(300);
  await limit(null);
  await eventually(async () => expect((await calls[0]?.())?.status).toBe(202), { interval: 200 });
});

test("quotas of storage have the period total, and quotas of work a day or a month", async () => {
  const { admin } = await workspace();
  for (const [meter, period] of [
    ["stored_bytes", "day"],
    ["runs_created", "total"],
  ]) {
    const json = { quotas: [{ meter, period, limit: 1 }] };
    const refused = await api("/v1/quotas", { key: admin, method: "PUT", json });
    const { detail } = await refused.json<{ detail: { loc: string[]; msg: string }[] }>();
    expect(refused.status).toBe(422);
    expect(detail[0]?.loc.join(".")).toBe("body.quotas.0.period");
  }
});
