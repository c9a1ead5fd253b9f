import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { tokenObject } from "../../../src/control-plane/oauth/storage/stub.ts";
import type { AuditLogsList } from "../../../src/control-plane/workspaces/audit/audit-schema.ts";
import {
  isChanging,
  isWorthRecording,
  resourcesOf,
} from "../../../src/control-plane/workspaces/audit/changes.ts";
import { bucket } from "../../support/belongings.ts";
import { deploymentRow } from "../../support/deployment.ts";
import { operations } from "../../support/operations.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";
import { DOWN, person, provider, providerBody, tokenOf } from "../oauth/support.ts";

async function logs({ admin }: TestWorkspace, query = ""): Promise<AuditLogsList> {
  const response = await api(`/v1/audit-logs?${query}`, { key: admin });
  expect(response.status).toBe(200);
  return response.json();
}

const display = (display_name: unknown) => ({ method: "PATCH", json: { display_name } });

async function deploymentOf({ workspace_id }: TestWorkspace): Promise<string> {
  return `/v2/deployments/${(await deploymentRow(workspace_id)).id}`;
}

describe("the audit log", () => {
  test("has the actor, change, time, request and outcome", async () => {
    const ours = await workspace();
    const path = await deploymentOf(ours);
    const changed = await api(path, { key: ours.editor, ...display("New") });
    expect(changed.status).toBe(200);
    const { resources, next_cursor } = await logs(ours);
    expect(next_cursor).toBeNull();
    expect(resources).toEqual([
      {
        id: expect.any(String),
        created_at: expect.stringMatching(/Z$/),
        request_id: changed.headers.get("X-Request-Id"),
        action: "updateDeployment",
        actor_type: "api_key",
        actor_id: expect.any(String),
        user_id: null,
        actor_name: expect.stringMatching(/^lsv2_\w+\.\.\.$/),
        resources: [{ name: "deployment_id", id: path.split("/").at(-1) }],
        status: 200,
      },
    ]);
  });

  test("has the ids of a created resource, and neither its body nor its secret", async () => {
    const ours = await workspace();
    const body = providerBody();
    const made = await api("/v2/auth/providers", { key: ours.admin, json: body });
    const { id } = await made.json<{ id: string }>();
    const destination = bucket();
    await api("/api/v1/bulk-exports/destinations", { key: ours.admin, json: destination });
    const { resources } = await logs(ours);
    expect(resources.map(({ action }) => action)).toEqual([
      "createBulkExportDestination",
      "createOAuthProvider",
    ]);
    expect(resources[1]?.resources).toEqual([
      { name: "id", id },
      { name: "provider_id", id: body.provider_id },
    ]);
    const stored = await env.DB.prepare("SELECT * FROM audit_logs WHERE workspace_id = ?")
      .bind(ours.workspace_id)
      .all();
    const text = JSON.stringify(stored.results);
    expect(text).not.toContain(body.client_secret);
    expect(text).not.toContain(destination.credentials.secret_access_key);
  });

  test("has sixty refusals of a caller in a minute", async () => {
    const ours = await workspace();
    const path = await deploymentOf(ours);
    for (let n = 0; n < 65; n++) {
      expect((await api(path, { key: ours.viewer, ...display("New") })).status).toBe(403);
    }
    expect((await api(path, { key: ours.editor, ...display("New") })).status).toBe(200);
    const { resources } = await logs(ours, "limit=100");
    expect(resources.filter(({ status }) => status === 403)).toHaveLength(60);
    expect(resources[0]).toMatchObject({ status: 200 });
  });

  test("has refused requests, and no invalid requests or reads", async () => {
    const ours = await workspace();
    const path = await deploymentOf(ours);
    expect((await api(path, { key: ours.viewer, ...display("New") })).status).toBe(403);
    expect((await api(path, { key: ours.admin, ...display(7) })).status).toBe(422);
    expect((await api(`${path}x`, { key: ours.admin, method: "DELETE" })).status).toBe(422);
    expect((await api(path, { key: ours.admin })).status).toBe(200);
    const query = { key: ours.admin, json: {} };
    const read = await api(`${path.replace("v2/deployments", "v1/projects")}/deploy_logs`, query);
    expect(read.status).toBe(200);
    const { resources } = await logs(ours);
    expect(resources.map(({ action, status }) => [action, status])).toEqual([
      ["updateDeployment", 403],
    ]);
  });

  test("has the tokens that a deletion deleted before it failed", async () => {
    const ours = await workspace();
    const slack = await provider(ours.editor, { provider_type: "slack" });
    const { user_id, key } = await person(ours, "viewer");
    const mine = () => tokenOf(ours, `user:${user_id}`, slack);
    const [kept, deleted] = [await mine(), await mine()];
    await tokenObject(env, deleted).delete();
    const drop = async () => {
      const path = `/v2/auth/tokens?provider_id=${slack}`;
      return (await api(path, { key, method: "DELETE" })).status;
    };
    const real = globalThis.fetch;
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) =>
      new Request(input, init).url === `${DOWN}/auth.revoke`
        ? Response.json({ ok: false, error: "no_permission" })
        : real(input, init),
    );
    const statuses = [await drop(), await drop()];
    vi.restoreAllMocks();
    expect(statuses).toEqual([409, 409]);
    const { resources } = await logs(ours, "action=deleteOAuthTokens");
    expect(resources).toMatchObject([{ status: 409 }]);
    const ids = resources.flatMap((entry) => entry.resources.map(({ id }) => id));
    expect(ids).toEqual([slack, deleted]);
    expect(ids).not.toContain(kept);
  });

  test("has projects, and no runs sent in", async () => {
    const ours = await workspace();
    const made = await api("/sessions", { key: ours.admin, json: { name: "p" } });
    const { id } = await made.json<{ id: string }>();
    await api(`/sessions/${id}`, { key: ours.admin, method: "PATCH", json: { description: "d" } });
    const run = { id: crypto.randomUUID(), name: "r", run_type: "chain", session_name: "p" };
    expect((await api("/runs", { key: ours.admin, json: run })).status).toBe(202);
    await api(`/sessions/${id}`, { key: ours.admin, method: "DELETE" });
    const actions = (await logs(ours)).resources.map(({ action }) => action);
    expect(actions).toEqual(["deleteProject", "updateProject", "createProject"]);
  });

  test("is listed in pages, newest first, each row once", async () => {
    const ours = await workspace();
    const path = await deploymentOf(ours);
    for (const n of [1, 2, 3]) await api(path, { key: ours.admin, ...display(`name ${n}`) });
    const all = (await logs(ours)).resources;
    const first = await logs(ours, "limit=2");
    const second = await logs(ours, `limit=2&cursor=${first.next_cursor}`);
    expect([...first.resources, ...second.resources]).toEqual(all);
    expect(second.next_cursor).toBeNull();
    expect(all).toHaveLength(3);
  });

  test("is filtered by actor, action, resource and time", async () => {
    const ours = await workspace();
    const { user_id, key, email } = await person(ours, "editor");
    const [one, two] = [await deploymentOf(ours), await deploymentOf(ours)];
    await api(one, { key, ...display("a") });
    await api(two, { key: ours.admin, ...display("b") });
    await api(two, { key: ours.viewer, method: "DELETE" });
    const [deleted, updated, byUser] = (await logs(ours)).resources;
    const found = async (query: Record<string, string>) =>
      (await logs(ours, new URLSearchParams(query).toString())).resources;
    expect(await found({ actor_id: user_id })).toEqual([byUser]);
    expect(byUser?.actor_name).toBe(email);
    expect(await found({ actor_id: updated?.actor_id ?? "" })).toEqual([updated]);
    expect(await found({ action: "deleteDeployment" })).toEqual([deleted]);
    expect(await found({ resource_id: one.split("/")[3] ?? "" })).toEqual([byUser]);
    expect(await found({ end_time: byUser?.created_at ?? "" })).toEqual([]);
    expect(await found({ start_time: byUser?.created_at ?? "" })).toContainEqual(byUser);
  });

  test("is for admins, each of their own workspace", async () => {
    const [ours, theirs] = [await workspace(), await workspace()];
    await api(await deploymentOf(ours), { key: ours.admin, ...display("a") });
    for (const key of [ours.viewer, ours.editor]) {
      expect((await api("/v1/audit-logs", { key })).status).toBe(403);
    }
    expect((await logs(theirs)).resources).toEqual([]);
    expect((await api("/v1/audit-logs?limit=0", { key: ours.admin })).status).toBe(422);
    expect((await api("/v1/audit-logs?end_time=now", { key: ours.admin })).status).toBe(422);
  });

  test.each(["UPDATE audit_logs SET status = 200", "DELETE FROM audit_logs"])(
    "takes no %s",
    async (statement) => {
      const ours = await workspace();
      await api(await deploymentOf(ours), { key: ours.admin, ...display("a") });
      await expect(env.DB.prepare(statement).run()).rejects.toThrow("append-only");
    },
  );
});

test("operations are named so that those which only read are known", () => {
  const posts = operations.filter(({ method }) => method === "POST");
  const reading = posts.filter(({ id }) => !isChanging("POST", id)).map(({ path }) => path);
  for (const path of reading)
    expect(path).toMatch(
      /estimate$|probe$|count_by_status$|v2\/(?:threads|traces)\/|logs$|\/runs\/|\/history$|\/versions$|\/checkpoint$|\/store\/|\/ui\//,
    );
  expect(isChanging("GET", "waitForOAuth")).toBe(false);
  expect(isChanging("POST", "listen")).toBe(true);
});

test("successes, refusals and server errors are recorded, other client errors are not", () => {
  for (const status of [200, 201, 204, 207, 403, 500, 503])
    expect(isWorthRecording("createX", status, [])).toBe(true);
  for (const status of [400, 401, 404, 409, 422, 429])
    expect(isWorthRecording("createX", status, [])).toBe(false);
});

test("resources are the ids of the path, the query and the created resource", () => {
  const query = { deployment_ids: ["a,b", "c"], limit: ["2"], provider_id: ["p"] };
  expect(resourcesOf({ revision_id: "r" }, query, { id: "new", name: "x" })).toEqual([
    { name: "revision_id", id: "r" },
    { name: "deployment_id", id: "a" },
    { name: "deployment_id", id: "b" },
    { name: "deployment_id", id: "c" },
    { name: "provider_id", id: "p" },
    { name: "id", id: "new" },
  ]);
  expect(resourcesOf({}, {}, ["list"])).toEqual([]);
  expect(resourcesOf({ a_id: "x".repeat(999) }, {}, null)[0]?.id).toHaveLength(200);
  const long = resourcesOf({}, { [`${"n".repeat(200)}_ids`]: ["1,".repeat(300)] }, null);
  expect(JSON.stringify(long).length).toBeLessThan(12_000);
});
