import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeAll, expect, test } from "vitest";
import { updateDeployment } from "../../../src/control-plane/deployments/api/update-service.ts";
import { DeploymentPatchRequest } from "../../../src/control-plane/deployments/schema.ts";
import { readSecrets } from "../../../src/control-plane/deployments/secrets.ts";
import { deployments, revisions } from "../../../src/control-plane/deployments/table.ts";
import { database } from "../../../src/shared/context.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import {
  deploymentRow,
  putArtifact,
  revisionRow,
  systemContext,
} from "../../support/deployment.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Body = {
  latest_revision_id: string;
  active_revision_id: string | null;
  secrets: { name: string }[];
  traffic: unknown[];
};

const db = database(env);
const A = { name: "A", value: "one" };
const B = { name: "B", value: "two" };

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});

function patch(id: string, json: unknown) {
  return api(`/v2/deployments/${id}`, { key: ours.editor, method: "PATCH", json });
}

async function changed(id: string, json: unknown): Promise<Body> {
  const response = await patch(id, json);
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return JSON.parse(text) as Body;
}

async function revision(id: string) {
  const [row] = await db.select().from(revisions).where(eq(revisions.id, id));
  if (!row) throw new Error(`No revision ${id}`);
  return row;
}

/** A deployment whose latest revision has the status, and whose revision before it is active. */
async function deployed(status: "DEPLOYED" | "BUILDING" | "BUILD_FAILED" = "DEPLOYED") {
  const deployment = await deploymentRow(ours.workspace_id);
  const active = await revisionRow(deployment, {
    status: "DEPLOYED",
    artifact_key: await putArtifact(),
    graphs: ["agent"],
    repo_commit_sha: "c0ffee",
  });
  const latest =
    status === "DEPLOYED" ? active : await revisionRow(deployment, { status, number: 2 });
  await db
    .update(deployments)
    .set({ latest_revision_id: latest.id, active_revision_id: active.id })
    .where(eq(deployments.id, deployment.id));
  return { id: deployment.id, active, latest };
}

test("new secrets make a revision of the same artifact, which serves without a build", async () => {
  const { id, active } = await deployed();
  const body = await changed(id, { secrets: [A, B] });
  expect(body.latest_revision_id).not.toBe(active.id);
  expect(body).toMatchObject({
    active_revision_id: body.latest_revision_id,
    active_revision: { number: 2, status: "DEPLOYED", repo_commit_sha: "c0ffee" },
    secrets: [{ name: "A" }, { name: "B" }],
  });
  expect(await revision(body.latest_revision_id)).toMatchObject({
    status: "DEPLOYED",
    number: 2,
    attempt: 0,
    artifact_key: active.artifact_key,
    repo_commit_sha: "c0ffee",
    graphs: ["agent"],
  });
  expect(await revision(active.id)).toMatchObject({ status: "DEPLOYED", deleted_at: null });
  const replaced = await changed(id, { secrets: [{ name: "B", value: "three" }] });
  expect(replaced.secrets).toEqual([{ name: "B", updated_at: expect.any(String) }]);
  expect(await readSecrets(env, id)).toEqual({ B: "three" });
});

test("an empty list removes all secrets; null and an absent list leave them", async () => {
  const { id } = await deployed();
  const { latest_revision_id } = await changed(id, { secrets: [A] });
  for (const json of [{ secrets: null }, {}, { display_name: "Kept" }]) {
    expect(await changed(id, json)).toMatchObject({ latest_revision_id, secrets: [{ name: "A" }] });
  }
  const empty = await changed(id, { secrets: [] });
  expect(empty.secrets).toEqual([]);
  expect(empty.latest_revision_id).not.toBe(latest_revision_id);
  expect(await readSecrets(env, id)).toEqual({});
});

test("an empty list with an upload leaves them: the CLI sends one for a folder without env file", async () => {
  const { id } = await deploymentRow(ours.workspace_id, { source: "internal_source" });
  await changed(id, { secrets: [A] });
  const source_tarball_path = `uploads/${ours.workspace_id}/${id}/a.tar.gz`;
  await env.ARTIFACTS.put(source_tarball_path, "");
  const source_revision_config = { source_tarball_path };
  const body = await changed(id, { secrets: [], source_revision_config });
  expect(body).toMatchObject({ latest_revision_id: expect.any(String), secrets: [{ name: "A" }] });
});

test.each(["BUILDING", "BUILD_FAILED"] as const)(
  "after a latest revision that is %s new secrets start a build, and the active one serves",
  async (status) => {
    const { id, active, latest } = await deployed(status);
    const body = await changed(id, { secrets: [A] });
    expect(body.active_revision_id).toBe(active.id);
    expect(body.latest_revision_id).not.toBe(latest.id);
    expect(await revision(body.latest_revision_id)).toMatchObject({
      number: 3,
      artifact_key: null,
      source_revision_config: { repo_ref: "main" },
    });
  },
);

test("secrets changed before the first revision create no revision", async () => {
  const { id } = await deploymentRow(ours.workspace_id, { source: "internal_source" });
  expect(await changed(id, { secrets: [A] })).toMatchObject({
    latest_revision_id: null,
    secrets: [{ name: "A" }],
  });
});

test("a split stays, with the copy in the place of its source", async () => {
  const { id, active } = await deployed();
  const preview = await revisionRow(
    { id, workspace_id: ours.workspace_id },
    { status: "DEPLOYED", number: 2, is_preview: true, artifact_key: await putArtifact() },
  );
  const share = (revision_id: string, percent: number) => ({ revision_id, percent });
  await changed(id, { traffic: [share(active.id, 90), share(preview.id, 10)] });
  const body = await changed(id, { secrets: [A] });
  expect(body.traffic).toEqual([share(body.latest_revision_id, 90), share(preview.id, 10)]);
  const both = await patch(id, { secrets: [B], traffic: [] });
  expect([both.status, await both.text()]).toEqual([422, expect.stringContaining("two requests")]);
  expect(await readSecrets(env, id)).toEqual({ A: "one" });
});

test("secrets that are refused change nothing", async () => {
  const { id, latest } = await deployed();
  expect((await patch(id, { secrets: [{ name: "PATH", value: "" }] })).status).toBe(422);
  const [row] = await db.select().from(deployments).where(eq(deployments.id, id));
  expect(row).toMatchObject({ latest_revision_id: latest.id, secrets_version: 0 });
});

test("a revision names the secrets that changed with it, and holds none of their values", async () => {
  const { id, active } = await deployed();
  const namesOf = async (json: object) => {
    const { latest_revision_id } = await changed(id, json);
    const path = `/v2/deployments/${id}/revisions/${latest_revision_id}`;
    const text = await (await api(path, { key: ours.viewer })).text();
    expect(text).not.toContain("secret value");
    return JSON.parse(text).changed_secrets;
  };
  const value = "secret value";
  const other = { name: "B", value: `${value} two` };
  expect(await namesOf({ secrets: [{ name: "A", value }, other] })).toEqual(["A", "B"]);
  expect(await namesOf({ secrets: [{ name: "C", value }, other] })).toEqual(["A", "C"]);
  const secret_changes = [
    { name: "B", value: null },
    { name: "C", value },
  ];
  expect(await namesOf({ secret_changes })).toEqual(["B"]);
  expect(await namesOf({ secrets: [{ name: "C", value }] })).toEqual([]);
  expect(await revision(active.id)).toMatchObject({ changed_secrets: null });
});

test("secret_changes set and remove the named secrets, and leave the others", async () => {
  const { id, active } = await deployed();
  await changed(id, { secrets: [A, B] });
  const secret_changes = [
    { name: "A", value: null },
    { name: "C", value: "three" },
    { name: "B", value: "four" },
  ];
  const body = await changed(id, { secret_changes });
  expect(body.secrets.map(({ name }) => name)).toEqual(["B", "C"]);
  expect(await readSecrets(env, id)).toEqual({ B: "four", C: "three" });
  const artifact_key = active.artifact_key;
  expect(await revision(body.latest_revision_id)).toMatchObject({
    status: "DEPLOYED",
    artifact_key,
  });

  const again = await changed(id, { secret_changes });
  expect(again.latest_revision_id).toBe(body.latest_revision_id);
});

test("a full set is removed by its names at once", async () => {
  const { id } = await deployed();
  const full = manySecrets(100);
  await changed(id, { secrets: full });
  const secret_changes = full.map(({ name }) => ({ name, value: null }));
  expect((await changed(id, { secret_changes })).secrets).toEqual([]);
});

/** The context of a change: before each of its writes, `between` happens. */
function interleaved(between: () => Promise<unknown>) {
  const ctx = systemContext(ours.workspace_id);
  const batch: typeof ctx.db.batch = async (statements) => {
    await between();
    return ctx.db.batch(statements);
  };
  const get = (target: typeof ctx.db, key: string | symbol) =>
    key === "batch" ? batch : Reflect.get(target, key);
  return { ...ctx, db: new Proxy(ctx.db, { get }) };
}

async function push(deployment_id: string, number: number) {
  const row = { id: deployment_id, workspace_id: ours.workspace_id };
  const pushed = await revisionRow(row, { number });
  await db
    .update(deployments)
    .set({ latest_revision_id: pushed.id })
    .where(eq(deployments.id, deployment_id));
}

test("new secrets build again when a push creates a revision before the copy is written", async () => {
  const { id, active } = await deployed();
  let pushes = 0;
  const ctx = interleaved(async () => {
    pushes += 1;
    if (pushes === 1) await push(id, 2);
  });
  const change = DeploymentPatchRequest.parse({ secrets: [A] });
  const body = await updateDeployment(ctx, id, change, "https://x.test");
  expect(body.active_revision_id).toBe(active.id);
  expect(await revision(body.latest_revision_id ?? "")).toMatchObject({
    number: 3,
    status: "AWAITING_BUILD",
    artifact_key: null,
    changed_secrets: ["A"],
  });
  expect(await readSecrets(env, id)).toEqual({ A: "one" });
  const rows = await db.select().from(revisions).where(eq(revisions.deployment_id, id));
  expect(rows).toHaveLength(3);
});

test("a change of secrets that other revisions overtake each time is refused and changes nothing", async () => {
  const { id, active } = await deployed();
  let number = 1;
  const ctx = interleaved(async () => {
    number += 1;
    const latest_revision_id = newId();
    await revisionRow(
      { id, workspace_id: ours.workspace_id },
      { id: latest_revision_id, number, status: "DEPLOYED", artifact_key: active.artifact_key },
    );
    await db.update(deployments).set({ latest_revision_id }).where(eq(deployments.id, id));
  });
  const change = DeploymentPatchRequest.parse({ secrets: [A] });
  const update = updateDeployment(ctx, id, change, "https://x.test");
  await expect(update).rejects.toMatchObject({ code: "conflict" });
  expect([number, await readSecrets(env, id)]).toEqual([4, {}]);
});

test("two changes of different secrets at once are both kept", async () => {
  const { id } = await deployed();
  await Promise.all([A, B].map((each) => changed(id, { secret_changes: [each] })));
  expect(await readSecrets(env, id)).toEqual({ A: "one", B: "two" });
});

test.each<[string, object, (string | number)[]]>([
  ["a reserved name", { secret_changes: [A, { name: "PATH", value: "" }] }, [1, "name"]],
  ["a name twice", { secret_changes: [A, { name: "A", value: null }] }, [1, "name"]],
  ["the whole set beside them", { secrets: [A], secret_changes: [B] }, []],
  ["one secret too many", { secret_changes: manySecrets(100) }, []],
])("secret_changes with %s are refused, and change nothing", async (_case, json, at) => {
  const { id } = await deployed();
  const kept = await changed(id, { secrets: [{ name: "KEPT", value: "" }] });
  const response = await patch(id, json);
  const { detail } = await response.json<{ detail: { loc: unknown[] }[] }>();
  expect([response.status, detail[0]?.loc]).toEqual([422, ["body", "secret_changes", ...at]]);
  const { latest_revision_id, secrets } = kept;
  expect(await changed(id, {})).toMatchObject({ latest_revision_id, secrets });
});

function manySecrets(count: number) {
  return Array.from({ length: count }, (_, at) => ({ name: `S${at}`, value: "" }));
}
