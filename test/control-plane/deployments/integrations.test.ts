import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { readToken } from "../../../src/control-plane/deployments/git/integration-service.ts";
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
  const response = await api(PATH, { key, json: { name: "main", token: TOKEN, ...fields } });
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
  const integration = await created();
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
