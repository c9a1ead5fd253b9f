import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { artifactKeyOf } from "../../../src/control-plane/builds/contract.ts";
import { activeRevision } from "../../../src/control-plane/deployments/api/service.ts";
import { updateDeployment } from "../../../src/control-plane/deployments/api/update-service.ts";
import { readRevisionCode } from "../../../src/control-plane/deployments/isolate/revision-code.ts";
import { build_logs } from "../../../src/control-plane/deployments/logs/table.ts";
import type { DeletionMessage } from "../../../src/control-plane/deployments/queue.ts";
import { claimBuild } from "../../../src/control-plane/deployments/rollout/build-claim-service.ts";
import { appendLog } from "../../../src/control-plane/deployments/rollout/build-service.ts";
import {
  consumeDeletion,
  type DeletionStep,
} from "../../../src/control-plane/deployments/rollout/deletion.ts";
import { sweepDeletions } from "../../../src/control-plane/deployments/rollout/sweep.ts";
import { DeploymentPatchRequest } from "../../../src/control-plane/deployments/schema.ts";
import { deployments, revisions, secrets } from "../../../src/control-plane/deployments/table.ts";
import { database } from "../../../src/shared/context.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import {
  deploymentRow,
  putArtifact,
  revisionRow,
  systemContext,
} from "../../support/deployment.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

const db = database(env);

// A workspace deletes few deployments at once.
let ours: TestWorkspace;
beforeEach(async () => {
  ours = await workspace();
});

async function deployed() {
  const revision_id = newId();
  const deployment = await deploymentRow(ours.workspace_id, {
    latest_revision_id: revision_id,
    active_revision_id: revision_id,
  });
  const artifact_key = await putArtifact();
  await revisionRow(deployment, { id: revision_id, status: "DEPLOYED", artifact_key });
  const building = await revisionRow(deployment, { number: 2 });
  const build = await claimBuild(env, building.id, new Date());
  if (!build) throw new Error("The second revision cannot be claimed");
  const timestamp = new Date().toISOString();
  await appendLog(env, build, [{ level: "INFO", message: "a line", timestamp }], new Date());
  const upload = `uploads/${deployment.workspace_id}/${deployment.id}/source.tgz`;
  await env.ARTIFACTS.put(upload, "x");
  const ui = artifact_key.replace(".json", ".ui.json");
  await env.ARTIFACTS.put(ui, "{}");
  // A build has stored its artifact, and was lost before the row named it.
  const unnamed = artifactKeyOf(building.id);
  await env.ARTIFACTS.put(unnamed, "{}");
  return { deployment, building, objects: [artifact_key, ui, upload, unnamed] };
}

function remove(id: string) {
  return api(`/v2/deployments/${id}`, { key: ours.admin, method: "DELETE" });
}

test("deletes a deployment with its revisions, logs, secrets and objects", async () => {
  const { deployment, building, objects } = await deployed();
  const path = `/v2/deployments/${deployment.id}`;
  await api(path, {
    key: ours.admin,
    method: "PATCH",
    json: { secrets: [{ name: "KEY", value: "v" }] },
  });
  const revision_id = deployment.active_revision_id ?? "";
  await readRevisionCode(env, { deployment_id: deployment.id, revision_id, secrets_version: 1 });
  const records = { prefix: `code/${deployment.id}/` };
  expect((await env.ARTIFACTS.list(records)).objects).toHaveLength(1);
  const removed = await remove(deployment.id);
  expect([removed.status, await removed.text()]).toEqual([204, ""]);
  await consumeDeletion(env, { deployment_id: deployment.id }, []);
  await consumeDeletion(env, { deployment_id: deployment.id }, []);
  const { id } = deployment;
  expect(await db.select().from(deployments).where(eq(deployments.id, id))).toEqual([]);
  expect(await db.select().from(revisions).where(eq(revisions.deployment_id, id))).toEqual([]);
  expect(await db.select().from(secrets).where(eq(secrets.deployment_id, id))).toEqual([]);
  const logs = eq(build_logs.revision_id, building.id);
  expect(await db.select().from(build_logs).where(logs)).toEqual([]);
  for (const key of objects) expect(await env.ARTIFACTS.head(key)).toBeNull();
  expect((await env.ARTIFACTS.list(records)).objects).toEqual([]);
  expect((await api(path, { key: ours.admin })).status).toBe(404);
  expect((await remove(id)).status).toBe(404);
});

test("a deleted deployment is not served or built, and its name is free", async () => {
  const { deployment, building } = await deployed();
  const ctx = systemContext(ours.workspace_id);
  await activeRevision(ctx, deployment.id);
  await remove(deployment.id);
  await expect(activeRevision(ctx, deployment.id)).rejects.toMatchObject({ code: "not_found" });
  expect(await claimBuild(env, building.id, new Date(Date.now() + 60_000))).toBeNull();
  const json = {
    name: deployment.name,
    source: "internal_source",
    source_config: { deployment_type: "dev" },
  };
  expect((await api("/v2/deployments", { key: ours.admin, json })).status).toBe(201);
});

test("a deployment in deletion can be read and not changed", async () => {
  const deployment = await deploymentRow(ours.workspace_id, { status: "AWAITING_DELETE" });
  const path = `/v2/deployments/${deployment.id}`;
  const read = await api(path, { key: ours.viewer });
  expect(await read.json()).toMatchObject({ status: "AWAITING_DELETE" });
  const json = { display_name: "x" };
  const changed = await api(path, { key: ours.admin, method: "PATCH", json });
  expect(changed.status).toBe(409);
  expect(await changed.json()).toEqual({ detail: expect.stringContaining("is being deleted") });
});

test("each message continues the deletion of the one before, and the row is deleted last", async () => {
  const deployment = await deploymentRow(ours.workspace_id, { status: "AWAITING_DELETE" });
  const send = vi.spyOn(env.DELETIONS, "sendBatch");
  let calls = 0;
  const step: DeletionStep = async (_, deployment_id) => {
    const [row] = await db.select().from(deployments).where(eq(deployments.id, deployment_id));
    expect(row?.status).toBe("AWAITING_DELETE");
    calls += 1;
    return false;
  };
  await consumeDeletion(env, { deployment_id: deployment.id }, [step]);
  expect(calls).toBe(1);
  const bodies = send.mock.calls.flatMap(([messages]) => [...messages].map(({ body }) => body));
  expect(bodies).toMatchObject([{ deployment_id: deployment.id }]);
  send.mockRestore();
});

test("a workspace deletes its two oldest deployments at once, and then the next", async () => {
  const [first, second, third] = await Promise.all(
    [1, 2, 3].map(() => deploymentRow(ours.workspace_id, { status: "AWAITING_DELETE" })),
  );
  const ids = [first, second, third].map((row) => row?.id ?? "").sort();
  const begun: string[] = [];
  const begin: DeletionStep = async (_, id) => {
    begun.push(id);
    return false;
  };
  for (const deployment_id of ids) await consumeDeletion(env, { deployment_id }, [begin]);
  expect(begun).toEqual(ids.slice(0, 2));
  const send = vi.spyOn(env.DELETIONS, "sendBatch");
  await consumeDeletion(env, { deployment_id: ids[0] ?? "" }, []);
  const bodies = send.mock.calls.flatMap(([messages]) => [...messages].map(({ body }) => body));
  send.mockRestore();
  expect(bodies).toMatchObject([{ deployment_id: ids[2] }]);
});

test("a deletion is one chain of messages, which the sweep replaces when it is lost", async () => {
  const updated_at = "2026-11-20T12:00:00.000Z";
  const deployment = await deploymentRow(ours.workspace_id, {
    status: "AWAITING_DELETE",
    updated_at,
  });
  const ids = { type: "deployment_deletion", deployment_id: deployment.id } as const;
  const send = vi.spyOn(env.DELETIONS, "sendBatch").mockResolvedValue(undefined as never);
  const sent = () => {
    const bodies = send.mock.calls.flatMap(([messages]) => [...messages].map(({ body }) => body));
    send.mockClear();
    return bodies.filter((body) => JSON.stringify(body).includes(ids.deployment_id));
  };
  let steps = 0;
  const step = async (message: DeletionMessage) => {
    await consumeDeletion(env, message, [
      async () => {
        steps += 1;
        return false;
      },
    ]);
    return sent() as DeletionMessage[];
  };
  const [second, ...others] = await step({ ...ids, updated_at });
  if (!second) throw new Error("The first step sends no message");
  expect(others).toEqual([]);
  expect(await step({ ...ids, updated_at })).toEqual([]);
  await sweepDeletions(env, new Date());
  expect([steps, sent()]).toEqual([1, []]);
  const now = new Date(Date.now() + 60_000);
  await sweepDeletions(env, now);
  const replaced = { ...ids, updated_at: now.toISOString() };
  expect(sent()).toEqual([replaced]);
  expect([await step(second), steps]).toEqual([[], 1]);
  expect([await step(replaced), steps]).toEqual([[expect.objectContaining(ids)], 2]);
  send.mockRestore();
});

test("keeps a deployment that is not being deleted", async () => {
  const { deployment, objects } = await deployed();
  await consumeDeletion(env, { deployment_id: deployment.id }, []);
  const path = `/v2/deployments/${deployment.id}`;
  expect((await api(path, { key: ours.viewer })).status).toBe(200);
  for (const key of objects) expect(await env.ARTIFACTS.head(key)).not.toBeNull();
});

test("the sweep sends a lost deletion again, once", async () => {
  const now = new Date("2026-11-20T12:00:00.000Z");
  const updated_at = new Date(now.getTime() - 60_000).toISOString();
  const lost = await deploymentRow(newId(), { status: "AWAITING_DELETE", updated_at });
  const send = vi.spyOn(env.DELETIONS, "sendBatch");
  await sweepDeletions(env, now);
  await sweepDeletions(env, now);
  const bodies = send.mock.calls.flatMap(([messages]) => [...messages].map(({ body }) => body));
  send.mockRestore();
  expect(bodies.filter((body) => JSON.stringify(body).includes(lost.id))).toHaveLength(1);
});

describe("a change that a deletion overtakes", () => {
  /** The change has read its deployment; before it writes, `between` happens. */
  async function overtaken(fields: object, between: (id: string) => Promise<unknown>) {
    const { id } = await deploymentRow(ours.workspace_id);
    const ctx = systemContext(ours.workspace_id);
    const batch: typeof ctx.db.batch = async (statements) => {
      await between(id);
      return ctx.db.batch(statements);
    };
    const get = (target: typeof ctx.db, key: string | symbol) =>
      key === "batch" ? batch : Reflect.get(target, key);
    const slow = { ...ctx, db: new Proxy(ctx.db, { get }) };
    const change = updateDeployment(
      slow,
      id,
      DeploymentPatchRequest.parse(fields),
      "https://x.test",
    );
    return { id, error: await change.catch((error: unknown) => error) };
  }

  const finish = async (deployment_id: string) => {
    await remove(deployment_id);
    await consumeDeletion(env, { deployment_id }, []);
    await consumeDeletion(env, { deployment_id }, []);
  };

  test.each([
    ["a revision", { source_revision_config: { repo_ref: "next" } }],
    ["secrets", { secrets: [{ name: "KEY", value: "v" }] }],
  ])("leaves nothing behind: %s", async (_, fields) => {
    for (const [between, code] of [
      [remove, "conflict"],
      [finish, "not_found"],
    ] as const) {
      const { id, error } = await overtaken(fields, between);
      expect(error).toMatchObject({ name: "AppError", code });
      expect(await db.select().from(revisions).where(eq(revisions.deployment_id, id))).toEqual([]);
      expect(await db.select().from(secrets).where(eq(secrets.deployment_id, id))).toEqual([]);
    }
  });
});
