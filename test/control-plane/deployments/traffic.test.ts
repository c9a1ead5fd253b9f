import { env } from "cloudflare:workers";
import { eq, type SQL } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { applyChange } from "../../../src/control-plane/deployments/api/change.ts";
import { deleteRevision } from "../../../src/control-plane/deployments/api/revision-service.ts";
import { activeRevision } from "../../../src/control-plane/deployments/api/service.ts";
import { claimBuild } from "../../../src/control-plane/deployments/rollout/build-claim-service.ts";
import {
  activateBuild,
  advanceBuild,
} from "../../../src/control-plane/deployments/rollout/build-service.ts";
import { findDeployment, findRevisions } from "../../../src/control-plane/deployments/rows.ts";
import { deployments, revisions } from "../../../src/control-plane/deployments/table.ts";
import { chooseShare } from "../../../src/control-plane/deployments/traffic.ts";
import { database } from "../../../src/shared/context.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import {
  deploymentRow,
  putArtifact,
  type RevisionFields,
  releaseBuilds,
  revisionRow,
  systemContext,
} from "../../support/deployment.ts";
import { holdBuilds } from "../../support/held-builds.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

holdBuilds();

type Body = Record<string, unknown> & { id: string; active_revision_id: string };
type Share = { revision_id: string; percent: number };

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});

const db = database(env);

async function deployment() {
  const active = newId();
  const row = await deploymentRow(ours.workspace_id, {
    latest_revision_id: active,
    active_revision_id: active,
  });
  const path = `/v2/deployments/${row.id}`;
  const add = async (number: number, fields: RevisionFields = {}) => {
    const built = { status: "DEPLOYED", artifact_key: await putArtifact() } as const;
    const revision = await revisionRow(row, { ...built, number, graphs: ["agent"], ...fields });
    return revision.id;
  };
  await add(1, { id: active });
  const call = async (method: string, to: string, json?: unknown, key = ours.admin) => {
    const response = await api(`${path}${to}`, { key, method, ...(json ? { json } : {}) });
    const text = await response.text();
    return { status: response.status, text, body: (text ? JSON.parse(text) : {}) as Body };
  };
  const split = (...traffic: Share[]) => call("PATCH", "", { traffic });
  const serving = (thread_id: string | null = null, ref = row.id) =>
    activeRevision(systemContext(ours.workspace_id), ref, thread_id);
  return { id: row.id, slug: row.slug, active, add, call, split, serving };
}

const share = (revision_id: string, percent: number) => ({ revision_id, percent });

describe("a split", () => {
  test("gives each thread one revision, in the requested parts", async () => {
    const { active, add, call, split, serving } = await deployment();
    const canary = await add(2);
    const traffic = [share(active, 80), share(canary, 20)];
    const answer = await split(...traffic);
    expect([answer.status, answer.body.traffic]).toEqual([200, traffic]);
    expect((await call("GET", "")).body).toMatchObject({ traffic, active_revision_id: active });
    const threads = Array.from({ length: 300 }, () => newId());
    const choose = async () => {
      const chosen: string[] = [];
      for (const id of threads) chosen.push((await serving(id)).revision_id);
      return chosen;
    };
    const chosen = await choose();
    expect(await choose()).toEqual(chosen);
    const part = chosen.filter((id) => id === canary).length;
    expect(part).toBeGreaterThan(25);
    expect(part).toBeLessThan(100);
    expect((await serving()).revision_id).toBe(active);
  });

  test("grows without moving the threads that the canary has", async () => {
    const threads = Array.from({ length: 200 }, () => newId());
    const on = (percent: number) => {
      const split = [share("canary", percent), share("active", 100 - percent)];
      return threads.filter((id) => chooseShare(split, id)?.revision_id === "canary");
    };
    const [few, many] = [on(10), on(50)];
    expect(many).toEqual(expect.arrayContaining(few));
    expect(on(100)).toEqual(threads);
  });

  test("names no revision that is deleted while it is set", async () => {
    const { id, active, add, call } = await deployment();
    const deleted = await add(2);
    const ctx = systemContext(ours.workspace_id);
    const before = await findDeployment(ctx, id);
    expect((await call("DELETE", `/revisions/${deleted}`)).status).toBe(204);
    for (const traffic of [[share(deleted, 100)], [share(active, 50), share(deleted, 50)]]) {
      const change = applyChange(ctx, before, { secrets: null, revision: null, traffic });
      await expect(change).rejects.toMatchObject({ code: "conflict" });
    }
    expect((await call("GET", "")).body).toMatchObject({
      traffic: [],
      active_revision_id: active,
    });
  });

  test("serves a deployment whose first build failed", async () => {
    const row = await deploymentRow(ours.workspace_id, { active_revision_id: null });
    const built = {
      status: "DEPLOYED",
      artifact_key: await putArtifact(),
      is_preview: true,
    } as const;
    const add = (number: number) => revisionRow(row, { ...built, number, graphs: ["agent"] });
    const [one, two] = [await add(1), await add(2)];
    const traffic = [share(one.id, 50), share(two.id, 50)];
    const path = `/v2/deployments/${row.id}`;
    const answer = await api(path, { key: ours.admin, method: "PATCH", json: { traffic } });
    expect(answer.status).toBe(200);
    const { revision_id } = await activeRevision(systemContext(ours.workspace_id), row.id, newId());
    expect([one.id, two.id]).toContain(revision_id);
    const [active] = await findRevisions(systemContext(ours.workspace_id), row.id, [one.id]);
    expect(active?.is_preview, "the active revision").toBe(false);
  });

  test("ends by an empty one, by a promotion, by a redeploy and by a newer revision", async () => {
    const { id, active, add, call, split, serving } = await deployment();
    const canary = await add(2, { is_preview: true });
    const half = [share(active, 50), share(canary, 50)];
    await split(...half);
    expect((await split()).body).toMatchObject({ traffic: [], active_revision_id: active });
    await split(...half);
    const promoted = await split(share(canary, 100));
    expect(promoted.body).toMatchObject({ traffic: [], active_revision_id: canary });
    expect((await serving(newId())).revision_id).toBe(canary);
    const [row] = await db.select().from(revisions).where(eq(revisions.id, canary));
    expect(row?.is_preview).toBe(false);
    await split(...half);
    expect((await call("POST", `/revisions/${active}/redeploy`)).body.traffic).toEqual([]);
    await split(...half);
    const { body } = await call("POST", "/revisions", {});
    const build = await claimBuild(env, body.id, new Date());
    if (!build) throw new Error("The revision cannot be claimed");
    await advanceBuild(env, build, "AWAITING_DEPLOY");
    await advanceBuild(env, build, "DEPLOYING");
    expect((await call("GET", "")).body.traffic).toEqual(half);
    await activateBuild(env, build);
    const after = (await call("GET", "")).body;
    expect(after).toMatchObject({ id, traffic: [], active_revision_id: body.id });
  });

  test("is of deployed revisions of this deployment, and sums to 100", async () => {
    const { active, add, split } = await deployment();
    const [other, building] = [await add(2), await add(3, { status: "BUILDING" })];
    const foreign = (await deployment()).active;
    const wrong: [Share[], string][] = [
      [[share(active, 50), share(other, 40)], "sum to 100, not 90"],
      [[share(active, 50)], "sum to 100, not 50"],
      [[share(active, 50), share(active, 50)], "occurs twice"],
      [[share(active, 50), share(building, 50)], "is BUILDING: only DEPLOYED revisions"],
      [[share(active, 50), share(foreign, 50)], `no revision ${foreign}`],
      [[share(active, 0), share(other, 100)], "traffic"],
      [[share(active, 0.5), share(other, 99.5)], "traffic"],
    ];
    for (const [traffic, text] of wrong) {
      const answer = await split(...traffic);
      expect([answer.status, answer.text]).toEqual([422, expect.stringContaining(text)]);
    }
  });

  test("keeps its revisions from being interrupted and deleted", async () => {
    const { active, add, call, split } = await deployment();
    const canary = await add(2);
    await split(share(active, 90), share(canary, 10));
    for (const [method, path] of [
      ["POST", `/revisions/${canary}/interrupt`],
      ["DELETE", `/revisions/${canary}`],
    ] as const) {
      const answer = await call(method, path);
      expect(answer.status).toBe(409);
      expect(answer.text).toContain(`takes 10 percent of the traffic: remove it`);
    }
    await split();
    expect((await call("DELETE", `/revisions/${active}`)).text).toContain("is the active one");
    expect((await call("DELETE", `/revisions/${canary}`)).status).toBe(204);
    expect((await call("GET", `/revisions/${canary}`)).status).toBe(404);
    expect((await split(share(canary, 100))).status).toBe(422);
    expect((await call("DELETE", `/revisions/${canary}`, undefined, ours.editor)).status).toBe(403);
  });
});

test.each<[string, (id: string) => Partial<typeof deployments.$inferInsert>]>([
  ["a split names it", (id) => ({ traffic: [share(id, 10), share(newId(), 90)] })],
  ["it becomes active", (id) => ({ active_revision_id: id })],
  ["it becomes the latest", (id) => ({ latest_revision_id: id })],
])("a revision is not deleted when, after the checks, %s", async (_case, fields) => {
  const { id, add } = await deployment();
  const revision_id = await add(2);
  const ctx = systemContext(ours.workspace_id);
  const update = (table: typeof revisions) => ({
    set: (values: object) => ({
      where: async (condition: SQL) => {
        await db.update(deployments).set(fields(revision_id)).where(eq(deployments.id, id));
        return db.update(table).set(values).where(condition);
      },
    }),
  });
  const get = (target: typeof ctx.db, key: string | symbol) =>
    key === "update" ? update : Reflect.get(target, key);
  const slow = { ...ctx, db: new Proxy(ctx.db, { get }) };
  const deleted = deleteRevision(slow, { deployment_id: id, revision_id });
  await expect(deleted).rejects.toMatchObject({ code: "conflict" });
  const [row] = await db.select().from(revisions).where(eq(revisions.id, revision_id));
  expect(row?.deleted_at).toBeNull();
});

describe("a preview", () => {
  test("does not change its deployment and is served only at its URL", async () => {
    const { id, slug, active, call, serving } = await deployment();
    const made = await call("POST", "/revisions", {
      activate: false,
      source_revision_config: { repo_ref: "feature" },
    });
    expect([made.status, made.body]).toEqual([
      201,
      expect.objectContaining({
        is_preview: true,
        url: `https://heddle.test/agents/${id}/revisions/${made.body.id}`,
        source_revision_config: expect.objectContaining({
          repo_ref: "feature",
          langgraph_config_path: "langgraph.json",
        }),
      }),
    ]);
    const ref = `${id}@${made.body.id}`;
    await expect(serving(null, ref)).rejects.toMatchObject({
      code: "unavailable",
      message: `Revision ${made.body.id} has the status AWAITING_BUILD: only a DEPLOYED revision serves requests.`,
    });
    const build = await claimBuild(env, made.body.id, new Date());
    if (!build) throw new Error("The revision cannot be claimed");
    await advanceBuild(env, build, "AWAITING_DEPLOY", { graphs: ["agent"] });
    await advanceBuild(env, build, "DEPLOYING");
    await activateBuild(env, build);
    expect((await call("GET", "")).body).toMatchObject({
      active_revision_id: active,
      latest_revision_id: active,
      source_revision_config: { repo_ref: "main" },
    });
    expect((await serving()).revision_id).toBe(active);
    expect((await serving(null, ref)).revision_id).toBe(made.body.id);
    expect((await serving(null, `${slug}@${made.body.id}`)).deployment_id).toBe(id);
    const list = async (query: string) => {
      const { body } = await call("GET", `/revisions${query}`);
      return (body as unknown as { resources: Body[] }).resources.map((one) => one.id);
    };
    expect(await list("")).toEqual([active]);
    expect(await list("?include_previews=true")).toEqual([made.body.id, active]);
    const promoted = await call("POST", `/revisions/${made.body.id}/redeploy`);
    expect(promoted.body).toMatchObject({ source_revision_config: { repo_ref: "feature" } });
    expect((await serving()).revision_id).toBe(promoted.body.active_revision_id);
  });

  test("is overtaken by a newer one of its branch, and by nothing else", async () => {
    const { call } = await deployment();
    const preview = async (repo_ref: string) => {
      const json = { activate: false, source_revision_config: { repo_ref } };
      return (await call("POST", "/revisions", json)).body.id;
    };
    const [older, other, newer] = [await preview("a"), await preview("b"), await preview("a")];
    const active = (await call("POST", "/revisions", {})).body.id;
    const claim = (id: string) => claimBuild(env, id, new Date());
    expect(await claim(older)).toBeNull();
    for (const id of [other, newer, active]) {
      expect(await claim(id)).not.toBeNull();
      await releaseBuilds();
    }
    expect((await call("GET", `/revisions/${older}`)).body.status).toBe("SKIPPED");
  });

  test.each([{ secrets: [] }, { source_config: {} }])("with %j is refused", async (fields) => {
    const { call } = await deployment();
    const answer = await call("POST", "/revisions", { activate: false, ...fields });
    expect(answer.status).toBe(422);
    expect(answer.text).toContain("cannot change with a preview");
  });

  test("is a 404 for another workspace and below another deployment", async () => {
    const [{ id, active }, other] = [await deployment(), await deployment()];
    const theirs = await workspace();
    const createThreadAt = (path: string, key: string) =>
      api(`/agents/${path}/threads`, { key, json: {} });
    expect((await createThreadAt(`${id}/revisions/${active}`, theirs.admin)).status).toBe(404);
    expect((await createThreadAt(`${other.id}/revisions/${active}`, ours.admin)).status).toBe(404);
    expect((await createThreadAt(`${id}/revisions/nope`, ours.admin)).status).toBe(404);
    expect((await createThreadAt(`${id}/revisions/${active}`, ours.viewer)).status).toBe(403);
    const none = await api(`/agents/${id}/revisions/${active}/threads`, { json: {} });
    expect(none.status).toBe(401);
    expect((await createThreadAt(`${id}/revisions/${active}`, ours.editor)).status).toBe(200);
  });
});

test("a thread has the same state and runs at the URLs of two revisions", async () => {
  const agent = await testDeployment(ours.workspace_id);
  const { deployment_id: id, revision_id } = agent;
  const copy = await api(`/v2/deployments/${id}/revisions/${revision_id}/redeploy`, {
    key: ours.admin,
    method: "POST",
  });
  const active = (await copy.json<Body>()).active_revision_id;
  expect(active).not.toBe(revision_id);
  const [main, old] = [`/agents/${id}`, `/agents/${id}/revisions/${revision_id}`];
  const call = async (path: string, json?: unknown) => {
    const response = await api(path, { key: ours.editor, ...(json ? { json } : {}) });
    const text = await response.text();
    expect(response.status, text).toBe(200);
    return JSON.parse(text);
  };
  const { thread_id } = await call(`${old}/threads`, {});
  const run = { assistant_id: "echo", input: { messages: [{ role: "user", content: "one" }] } };
  for (const url of [old, main]) await call(`${url}/threads/${thread_id}/runs/wait`, run);
  const [onMain, onOld] = [
    await call(`${main}/threads/${thread_id}/state`),
    await call(`${old}/threads/${thread_id}/state`),
  ];
  expect(onMain).toEqual(onOld);
  expect(await call(`${old}/threads/${thread_id}/runs`)).toHaveLength(2);
});

test("a change of secrets leaves a revision active that was redeployed after it began", async () => {
  const { id, active, add } = await deployment();
  const ctx = systemContext(ours.workspace_id);
  const before = await findDeployment(ctx, id);
  const [copied] = await findRevisions(ctx, id, [active]);
  const other = await add(2);
  await db.update(deployments).set({ active_revision_id: other }).where(eq(deployments.id, id));
  const revision = { id: newId(), copied: copied ?? null, trigger: "secrets" } as const;
  const secrets = { some: [{ name: "A", value: "one" }] };
  await applyChange(ctx, before, { secrets, revision });
  expect(await findDeployment(ctx, id)).toMatchObject({
    active_revision_id: other,
    latest_revision_id: revision.id,
  });
});
