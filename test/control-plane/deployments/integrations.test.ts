import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import {
  MAX_INTEGRATIONS,
  readToken,
} from "../../../src/control-plane/deployments/git/integration-service.ts";
import { integrations } from "../../../src/control-plane/deployments/table.ts";
import { database } from "../../../src/shared/context.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Integration = { id: string; installation_id: number; name: string; api_url: string };

const PATH = "/v1/integrations/github/install";
const TOKEN = "ghp_not-to-be-seen";

let ours: TestWorkspace;
let theirs: TestWorkspace;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
});

async function created(fields: Record<string, unknown> = {}, key = ours.editor) {
  const name = `main-${crypto.randomUUID()}`;
  const response = await api(PATH, { key, json: { name, token: TOKEN, ...fields } });
  expect(response.status).toBe(201);
  return response.json<Integration>();
}

function deploy(integration_id: string, repo_url: string) {
  return api("/v2/deployments", {
    key: ours.editor,
    json: {
      name: `agent-${crypto.randomUUID()}`,
      source: "github",
      source_config: { integration_id, repo_url, deployment_type: "dev" },
      source_revision_config: { repo_ref: "main" },
      secrets: [],
    },
  });
}

test("an integration is listed in its workspace, and its token is nowhere to be seen", async () => {
  const integration = await created({ name: "main" });
  expect(integration).toEqual({
    id: expect.any(String),
    installation_id: expect.any(Number),
    name: "main",
    api_url: "https://api.github.com",
  });
  const list = await api(PATH, { key: ours.viewer });
  expect(list.status).toBe(200);
  const text = await list.text();
  expect(JSON.parse(text)).toContainEqual(integration);
  expect(text).not.toContain(TOKEN);
  const foreign = await (await api(PATH, { key: theirs.viewer })).json<Integration[]>();
  expect(foreign.map(({ id }) => id)).not.toContain(integration.id);
  const forge = await api("/v1/integrations/forge/github/install", { key: ours.viewer });
  expect(await forge.text()).toBe(text);
  const rows = await database(env).select().from(integrations);
  expect(JSON.stringify(rows)).not.toContain(TOKEN);
});

test.each([
  [{ name: "" }, "name"],
  [{ token: "" }, "token"],
  [{ token: "a\nb" }, "token"],
  [{ api_url: "ftp://host" }, "api_url"],
  [{ api_url: "https://user:password@host" }, "api_url"],
  [{ api_url: `https://host/${"x".repeat(2048)}` }, "api_url"],
])("%j is refused", async (fields, field) => {
  const json = { name: "main", token: TOKEN, ...fields };
  const response = await api(PATH, { key: ours.editor, json });
  expect(response.status).toBe(422);
  expect(await response.text()).toContain(field);
});

describe("a deployment", () => {
  test("of another workspace's integration is refused", async () => {
    const { id } = await created({}, theirs.editor);
    const response = await deploy(id, "https://github.com/acme/agent");
    expect(response.status).toBe(422);
    expect(await response.text()).toContain(`integration ${id} not found in this workspace`);
  });

  test.each([
    ["https://api.github.com", "https://evil.test/acme/agent", 422],
    ["https://api.github.com", "https://github.com.evil.test/acme/agent", 422],
    ["https://git.acme.test/api/v3", "https://acme.test/acme/agent", 422],
    ["http://127.0.0.1:9", "http://127.0.0.1:10/acme/agent", 422],
    ["http://127.0.0.1:9", "http://127.0.0.1:9/acme/agent", 201],
  ])("with a token for %s and the repository %s answers %i", async (api_url, repo_url, status) => {
    const { id } = await created({ api_url });
    const response = await deploy(id, repo_url);
    expect(response.status).toBe(status);
    if (status === 422) expect(await response.text()).toContain("use an integration of that host");
  });
});

test("a build gets its workspace's token for the integration's host alone", async () => {
  const { id: integration_id } = await created();
  const repo_url = "https://github.com/acme/agent";
  const source = { integration_id, repo_url };
  expect(await readToken(env, ours.workspace_id, source)).toBe(TOKEN);
  expect(await readToken(env, theirs.workspace_id, source)).toBeNull();
  const elsewhere = { integration_id, repo_url: "https://evil.test/acme/agent" };
  expect(await readToken(env, ours.workspace_id, elsewhere)).toBeNull();
  expect(await readToken(env, ours.workspace_id, { repo_url })).toBeNull();
});

describe("changing an integration", () => {
  const at = (id: string) => `/v1/integrations/github/${id}`;
  const patch = (id: string, json: unknown, key = ours.editor) =>
    api(at(id), { key, method: "PATCH", json });
  const remove = (id: string, key = ours.admin) => api(at(id), { key, method: "DELETE" });
  const repo_url = "https://github.com/acme/agent";

  test("updates its token and its name, and keeps absent fields", async () => {
    const { id, ...before } = await created();
    const source = { integration_id: id, repo_url };
    const renamed = await patch(id, { name: "Renamed", token: null, api_url: before.api_url });
    expect(await renamed.json()).toEqual({ ...before, id, name: "Renamed" });
    expect(await readToken(env, ours.workspace_id, source)).toBe(TOKEN);
    const rotated = await patch(id, { token: "ghp_new" });
    expect([rotated.status, await rotated.text()]).toEqual([
      200,
      expect.not.stringContaining("ghp"),
    ]);
    expect(await readToken(env, ours.workspace_id, source)).toBe("ghp_new");
  });

  test.each([
    [{ token: "a", app: { app_id: "1", installation_id: 1, private_key: "k" } }, "give either"],
    [{ app: { app_id: "1", installation_id: 1, private_key: "k" } }, "RSA private key"],
    [{ api_url: "https://elsewhere.test" }, "cannot change"],
    [{ name: " " }, "name"],
  ])("%j is refused and changes nothing", async (json, text) => {
    const { id } = await created();
    const response = await patch(id, json);
    expect([response.status, await response.text()]).toEqual([422, expect.stringContaining(text)]);
    const source = { integration_id: id, repo_url };
    expect(await readToken(env, ours.workspace_id, source)).toBe(TOKEN);
  });

  test("a name is taken once in a workspace", async () => {
    const { name } = await created();
    const again = await api(PATH, { key: ours.editor, json: { name, token: TOKEN } });
    expect([again.status, await again.text()]).toEqual([409, expect.stringContaining(name)]);
    const other = await created();
    expect((await patch(other.id, { name })).status).toBe(409);
    await created({ name }, theirs.editor);
  });

  test("a workspace has a maximum number of them", async () => {
    const full = await workspace();
    const { id } = await created({}, full.editor);
    const [{ installation_id: _, ...row } = { installation_id: 0 }] = await database(env)
      .select()
      .from(integrations)
      .where(eq(integrations.id, id));
    const copies = `WITH RECURSIVE n (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
      INSERT INTO integrations (${Object.keys(row).join(", ")})
      SELECT ${Object.keys(row)
        .map((name) => (name === "id" || name === "name" ? `${name} || n` : name))
        .join(", ")} FROM n JOIN integrations WHERE id = ?`;
    await env.DB.prepare(copies).bind(MAX_INTEGRATIONS, id).run();
    const json = { name: "more", token: TOKEN };
    const more = await api(PATH, { key: full.editor, json });
    expect([more.status, await more.text()]).toEqual([409, expect.stringContaining("at most")]);
    expect((await remove(id, full.admin)).status).toBe(204);
    await created({}, full.editor);
  });

  test("a deployment changes its integration, and one in use is not deleted", async () => {
    const [first, second, foreign] = [
      await created(),
      await created(),
      await created({}, theirs.editor),
    ];
    const deployment = await (await deploy(first.id, repo_url)).json<{
      id: string;
      name: string;
    }>();
    const set = async (integration_id: string | null) => {
      const call = {
        key: ours.editor,
        method: "PATCH",
        json: { source_config: { integration_id } },
      };
      return api(`/v2/deployments/${deployment.id}`, call);
    };
    const refused = await remove(first.id);
    expect([refused.status, await refused.text()]).toEqual([
      409,
      expect.stringContaining(deployment.name),
    ]);
    expect((await set(foreign.id)).status).toBe(422);
    const changed = await set(second.id);
    expect(await changed.json()).toMatchObject({ source_config: { integration_id: second.id } });
    expect((await remove(first.id)).status).toBe(204);
    expect((await remove(first.id)).status).toBe(404);
    const left = await set(null);
    expect(await left.json()).toMatchObject({ source_config: { integration_id: null, repo_url } });
    expect((await remove(second.id)).status).toBe(204);
    expect(await database(env).$count(integrations, eq(integrations.id, second.id))).toBe(0);
  });

  test("an editor does not delete it, and another workspace does not find it", async () => {
    const { id } = await created();
    expect((await remove(id, ours.editor)).status).toBe(403);
    expect((await remove(id, theirs.admin)).status).toBe(404);
    expect((await patch(id, { name: "x" }, theirs.admin)).status).toBe(404);
    expect((await patch(id, { name: "x" }, ours.viewer)).status).toBe(403);
  });
});
