import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { consumeBuild } from "../../../src/control-plane/builds/queue/consumer.ts";
import { interruptRevision } from "../../../src/control-plane/deployments/api/revision-service.ts";
import { activeRevision } from "../../../src/control-plane/deployments/api/service.ts";
import { claimBuild } from "../../../src/control-plane/deployments/rollout/build-claim-service.ts";
import {
  activateBuild,
  advanceBuild,
} from "../../../src/control-plane/deployments/rollout/build-service.ts";
import { deployments, revisions } from "../../../src/control-plane/deployments/table.ts";
import { database } from "../../../src/shared/context.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { LeaseLost } from "../../../src/shared/work/lease.ts";
import {
  DESCRIPTORS,
  deploymentRow,
  putArtifact,
  type RevisionFields,
  revisionRow,
  systemContext,
} from "../../support/deployment.ts";
import { holdBuilds } from "../../support/held-builds.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Body = Record<string, unknown> & { id: string; latest_revision_id: string };
type List = { resources: Body[]; offset: number };

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});

holdBuilds();

const db = database(env);
const OLD_CONFIG = { repo_ref: "v1", langgraph_config_path: "old.json" };

/** Revision 1 was deployed, and revision 2 after it, which serves. */
async function deployedTwice(fields: RevisionFields = {}) {
  const [first, second] = [newId(), newId()];
  const deployment = await deploymentRow(ours.workspace_id, {
    latest_revision_id: second,
    active_revision_id: second,
  });
  const built: RevisionFields = {
    status: "DEPLOYED",
    graphs: ["agent"],
    descriptors: DESCRIPTORS,
  };
  await revisionRow(deployment, {
    ...built,
    id: first,
    number: 1,
    artifact_key: await putArtifact(),
    source_revision_config: OLD_CONFIG,
    repo_commit_sha: "a".repeat(40),
    config_env: { MODE: "old" },
    ...fields,
  });
  await revisionRow(deployment, {
    ...built,
    id: second,
    number: 2,
    artifact_key: await putArtifact(),
  });
  const path = `/v2/deployments/${deployment.id}`;
  return { id: deployment.id, path, first, second };
}

async function post(path: string, json: unknown = {}, key = ours.editor) {
  const response = await api(path, { key, json });
  const text = await response.text();
  return { status: response.status, text, body: JSON.parse(text) as Body };
}

async function readRevision(id: string) {
  const [row] = await db.select().from(revisions).where(eq(revisions.id, id));
  if (!row) throw new Error(`No revision ${id}`);
  return row;
}

describe("redeploying", () => {
  test.each([
    "/v2/deployments/{id}/revisions/{rev}/redeploy",
    "/v1/projects/{id}/revisions/{rev}/deploy",
  ])(
    "POST %s serves with the older code at once, as a new revision that is not built",
    async (operation) => {
      const { id, path, first, second } = await deployedTwice();
      const answer = await post(operation.replace("{id}", id).replace("{rev}", first));
      expect(answer.status).toBe(200);
      const { latest_revision_id } = answer.body;
      expect([first, second]).not.toContain(latest_revision_id);
      expect(answer.body).toMatchObject({
        id,
        active_revision_id: latest_revision_id,
        source_revision_config: {
          repo_ref: "v1",
          langgraph_config_path: "old.json",
          repo_commit_sha: "a".repeat(40),
        },
      });
      const source = await readRevision(first);
      expect(await readRevision(latest_revision_id)).toMatchObject({
        number: 3,
        status: "DEPLOYED",
        attempt: 0,
        artifact_key: source.artifact_key,
        config_env: { MODE: "old" },
        graphs: ["agent"],
      });
      const active = await activeRevision(systemContext(ours.workspace_id), id);
      expect(active.revision_id).toBe(latest_revision_id);
      const list = (await (await api(`${path}/revisions`, { key: ours.viewer })).json()) as List;
      expect(list.resources.map(({ id }) => id)).toEqual([latest_revision_id, second, first]);
    },
  );

  test("a build that ends after a rollback does not take it back", async () => {
    const { id, path, first } = await deployedTwice();
    const { body } = await post(`${path}/revisions`);
    const build = await claimBuild(env, body.id, new Date());
    if (!build) throw new Error("The revision cannot be claimed");
    const rolled = await post(`${path}/revisions/${first}/redeploy`);
    await advanceBuild(env, build, "AWAITING_DEPLOY");
    await advanceBuild(env, build, "DEPLOYING");
    await activateBuild(env, build);
    const [row] = await db.select().from(deployments).where(eq(deployments.id, id));
    expect(row?.active_revision_id).toBe(rolled.body.latest_revision_id);
  });

  test("a revision that was built but not loaded is loaded again without a build", async () => {
    const { id, path, first, second } = await deployedTwice({ status: "BUILD_FAILED" });
    const { body } = await post(`${path}/revisions/${first}/redeploy`);
    expect(body).toMatchObject({ active_revision_id: second });
    await consumeBuild(env, { revision_id: body.latest_revision_id });
    expect(await readRevision(body.latest_revision_id)).toMatchObject({ status: "DEPLOYED" });
    const [row] = await db.select().from(deployments).where(eq(deployments.id, id));
    expect(row?.active_revision_id).toBe(body.latest_revision_id);
  });

  test.each([
    ["its commit", "a".repeat(40), "a".repeat(40)],
    ["its branch while its commit is unknown", null, "v1"],
  ])("what was not built is built from %s", async (_, repo_commit_sha, repo_ref) => {
    const fields = { status: "BUILD_FAILED", artifact_key: null, repo_commit_sha } as const;
    const { path, first } = await deployedTwice(fields);
    const { status, text, body } = await post(`${path}/revisions/${first}/redeploy`);
    expect([status, text]).toEqual([200, expect.any(String)]);
    expect(await readRevision(body.latest_revision_id)).toMatchObject({ status: "AWAITING_BUILD" });
    const outcome = { ok: false, reason: "bundle_failed", message: "no bundle" };
    const build = vi.spyOn(env.BUILDER, "build").mockResolvedValue(outcome as never);
    await consumeBuild(env, { revision_id: body.latest_revision_id });
    const { status_message } = await readRevision(body.latest_revision_id);
    expect(status_message).toBe("no bundle");
    expect(build.mock.calls.map(([order]) => order.source)).toEqual([
      expect.objectContaining({ kind: "git", repo_ref }),
    ]);
    build.mockRestore();
    expect(body.source_revision_config).toMatchObject({ repo_ref: "v1", repo_commit_sha });
  });

  test("one that still builds is refused", async () => {
    const { path, first } = await deployedTwice({ status: "BUILDING" });
    const answer = await post(`${path}/revisions/${first}/redeploy`);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(`Revision ${first} is BUILDING`);
  });
});

describe("creating a revision", () => {
  test("builds the same source again, with the given fields replaced", async () => {
    const { path, second } = await deployedTwice();
    const same = await post(`${path}/revisions`);
    expect(same.status).toBe(201);
    expect(same.body).toMatchObject({
      status: "AWAITING_BUILD",
      source_revision_config: { repo_ref: "main" },
    });
    const other = await post(`${path}/revisions`, {
      source_revision_config: { repo_ref: "next" },
      source_config: { resource_spec: { cpu: 1 } },
      secrets: [{ name: "A", value: "1" }],
      secret_references: [],
    });
    expect(other.status).toBe(201);
    expect(other.body).toMatchObject({ source_revision_config: { repo_ref: "next" } });
    expect(await (await api(path, { key: ours.viewer })).json()).toMatchObject({
      latest_revision_id: other.body.id,
      active_revision_id: second,
      source_config: { resource_spec: { cpu: 1 } },
      secrets: [{ name: "A" }],
    });
  });

  test("of an uploaded source wants the upload first", async () => {
    const { id } = await deploymentRow(ours.workspace_id, {
      source: "internal_source",
      source_config: {},
      source_revision_config: {},
    });
    const answer = await post(`/v2/deployments/${id}/revisions`);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(`POST /v2/deployments/${id}/upload-url`);
  });

  test.each([
    [{ source_config: { repo_url: "https://git.test/b.git" } }, "cannot change"],
    [{ source_revision_config: { image_uri: "a/b:1" } }, "images are not supported"],
    [{ secrets: [{ name: "PORT", value: "" }] }, "is a reserved name"],
    [{ secret_references: [{ name: "A" }] }, "use secrets"],
  ])("%j is refused", async (json, text) => {
    const { path } = await deployedTwice();
    const answer = await post(`${path}/revisions`, json);
    expect(answer.status).toBe(422);
    expect(answer.text).toContain(text);
  });
});

describe("interrupting", () => {
  test("ends a build for good: its attempt can write no more", async () => {
    const { path } = await deployedTwice();
    const { body } = await post(`${path}/revisions`);
    const build = await claimBuild(env, body.id, new Date());
    if (!build) throw new Error("The revision cannot be claimed");
    const answer = await post(`${path}/revisions/${body.id}/interrupt`);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ status: "BUILD_FAILED", status_reason: "interrupted" });
    await expect(advanceBuild(env, build, "AWAITING_DEPLOY")).rejects.toThrow(LeaseLost);
    expect(await claimBuild(env, body.id, new Date())).toBeNull();
  });

  test("sends the build once more, so that the consumer reports its end to the git host", async () => {
    const { id, path } = await deployedTwice();
    const { body } = await post(`${path}/revisions`);
    const [ctx, revision] = [systemContext(ours.workspace_id), { revision_id: body.id }];
    const sent = vi.mocked(env.BUILDS.sendBatch).mockClear();
    await interruptRevision(ctx, { deployment_id: id, ...revision }, "https://heddle.test");
    expect(sent.mock.calls.map(([messages]) => [...messages])).toEqual([
      [{ body: { type: "build", ...revision } }],
    ]);
  });

  test("a revision that has ended cannot be interrupted", async () => {
    const { path, first } = await deployedTwice();
    const answer = await post(`${path}/revisions/${first}/interrupt`);
    expect(answer.status).toBe(409);
    expect(answer.text).toContain("is DEPLOYED: only a build");
  });
});

test("lists separate running builds from ended ones", async () => {
  const mine = await workspace();
  const [busy, done] = [newId(), newId()];
  const waiting = await deploymentRow(mine.workspace_id, { latest_revision_id: busy });
  await revisionRow(waiting, { id: done, status: "DEPLOYED" });
  await revisionRow(waiting, { id: busy, number: 2 });
  const idle = await deploymentRow(mine.workspace_id);
  const ids = async (path: string) => {
    const response = await api(path, { key: mine.viewer });
    expect(response.status).toBe(200);
    return (await response.json<List>()).resources.map(({ id }) => id);
  };
  expect(await ids("/v2/deployments?remote_reconciled=false")).toEqual([waiting.id]);
  expect(await ids("/v2/deployments?remote_reconciled=true")).toEqual([idle.id]);
  const path = `/v2/deployments/${waiting.id}/revisions`;
  expect(await ids(`${path}?remote_reconciled=false`)).toEqual([busy]);
  expect(await ids(`${path}?remote_reconciled=true`)).toEqual([done]);
});
