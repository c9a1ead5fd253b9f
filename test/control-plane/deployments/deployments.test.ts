import { env, exports } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { deployments, revisions, secrets } from "../../../src/control-plane/deployments/table.ts";
import { database } from "../../../src/shared/context.ts";
import { deploymentRow } from "../../support/deployment.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Body = Record<string, unknown> & { id: string; latest_revision_id: string };

let ours: TestWorkspace;
let theirs: TestWorkspace;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
});

/** Nothing listens there, so its builds end soon and by themselves. */
const REPO_URL = "http://127.0.0.1:9/acme/agent.git";
const UNKNOWN_ID = "0197f000-0000-7000-8000-000000000000";
const REVISION_CONFIG = { repo_ref: "main" };
const SOURCE_CONFIG = { repo_url: REPO_URL, deployment_type: "dev" };

let names = 0;
function input(fields: Record<string, unknown> = {}) {
  names += 1;
  return {
    name: `agent-${names}`,
    source: "github",
    source_config: SOURCE_CONFIG,
    source_revision_config: REVISION_CONFIG,
    secrets: [],
    ...fields,
  };
}

async function created(fields: Record<string, unknown> = {}): Promise<Body> {
  const response = await api("/v2/deployments", { key: ours.editor, json: input(fields) });
  const text = await response.text();
  expect(response.status, text).toBe(201);
  return JSON.parse(text) as Body;
}

function patch(id: string, json: unknown, key = ours.editor) {
  return api(`/v2/deployments/${id}`, { key, method: "PATCH", json });
}

async function read<T = Body>(path: string, key = ours.viewer): Promise<T> {
  const response = await api(path, { key });
  expect(response.status).toBe(200);
  return response.json<T>();
}

describe("creating", () => {
  test("a deployment carries every field, and its first revision is its latest", async () => {
    const secrets = [{ name: "OPENAI_API_KEY", value: "sk-very-secret" }];
    const json = input({ secrets });
    const response = await api("/v2/deployments", { key: ours.editor, json });
    expect(response.status).toBe(201);
    const body = await response.json<Body>();
    const url = `https://heddle.test/agents/${body.id}`;
    expect(body).toEqual({
      id: expect.any(String),
      tenant_id: ours.workspace_id,
      name: json.name,
      display_name: null,
      source: "github",
      source_config: {
        integration_id: null,
        repo_url: REPO_URL,
        deployment_type: "dev",
        build_on_push: false,
        custom_url: url,
        resource_spec: null,
        install_command: null,
        build_command: null,
      },
      source_revision_config: {
        repo_ref: "main",
        agent_config_path: "langgraph.json",
        langgraph_config_path: "langgraph.json",
        image_uri: null,
        source_tarball_path: null,
        repo_commit_sha: null,
      },
      secrets: [{ name: "OPENAI_API_KEY", updated_at: expect.any(String) }],
      secret_references: null,
      status: "READY",
      latest_revision_id: expect.any(String),
      active_revision_id: null,
      latest_revision: expect.objectContaining({ number: 1, repo_commit_sha: null }),
      active_revision: null,
      tracing_project_id: expect.any(String),
      image_version: null,
      traffic: [],
      url,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect(await read(`/v2/deployments/${body.id}`)).toMatchObject({ id: body.id, url });
    expect(
      await read(`/v2/deployments/${body.id}/revisions/${body.latest_revision_id}`),
    ).toMatchObject({ id: body.latest_revision_id, deployment_id: body.id, source: "github" });
  });

  test("the same paths answer below /api-host", async () => {
    const { id } = await created();
    expect(await read(`/api-host/v2/deployments/${id}`)).toMatchObject({ id });
  });

  test("a name is unique within its workspace, not across workspaces", async () => {
    const json = input({ name: "support" });
    const send = (key: string) => api("/v2/deployments", { key, json });
    const both = await Promise.all([send(ours.editor), send(ours.editor)]);
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
    const refused = both.find(({ status }) => status === 409);
    expect(await refused?.json()).toEqual({
      detail: expect.stringMatching(
        /^A deployment named "support" exists in this workspace: choose another name, or update it with PATCH \/v2\/deployments\/[0-9a-f-]{36}\.$/,
      ),
    });
    expect((await send(theirs.editor)).status).toBe(201);
  });

  test.each([
    ["my_deployment", /^my-deployment-[0-9a-f]{8}$/],
    ["Support.Agent_2", /^support-agent-2-[0-9a-f]{8}$/],
    [`${"a".repeat(49)}_b`, /^a{49}-[0-9a-f]{8}$/],
    ["_._0", /^0-[0-9a-f]{8}$/],
  ])("the name %s is kept, and the host name derives from it", async (name, slug) => {
    const mine = await workspace();
    const response = await api("/v2/deployments", { key: mine.editor, json: input({ name }) });
    expect(response.status).toBe(201);
    const body = await response.json<Body>();
    expect(body.name).toBe(name);
    const [row] = await database(env)
      .select({ slug: deployments.slug })
      .from(deployments)
      .where(eq(deployments.id, body.id));
    expect(row?.slug).toMatch(slug);
    const query = `name_contains=${name.toUpperCase()}`;
    const found = await read<{ resources: Body[] }>(`/v2/deployments?${query}`, mine.viewer);
    expect(found.resources.map(({ id }) => id)).toEqual([body.id]);
  });

  test("the plan Developer has no uploads, and the refusal has the words that the CLI knows", async () => {
    const poor = await workspace({ plan: "developer" });
    const json = input({
      source: "internal_source",
      source_config: {},
      source_revision_config: {},
    });
    const refused = await api("/v2/deployments", { key: poor.editor, json });
    expect(refused.status).toBe(403);
    expect(await refused.json()).toEqual({
      detail: expect.stringMatching(/not enabled for this organization.*plan Plus or Enterprise/),
    });
    expect((await api("/v2/deployments", { key: poor.editor, json: input() })).status).toBe(201);
    const { id } = await deploymentRow(poor.workspace_id, { source: "internal_source" });
    const url = await api(`/v2/deployments/${id}/upload-url`, { key: poor.editor, method: "POST" });
    expect(url.status).toBe(403);
    const source_tarball_path = `uploads/${poor.workspace_id}/${id}/a.tgz`;
    const change = { source_revision_config: { source_tarball_path } };
    expect((await patch(id, change, poor.editor)).status).toBe(403);
    const revision = await api(`/v2/deployments/${id}/revisions`, {
      key: poor.editor,
      json: change,
    });
    expect(revision.status).toBe(403);
    expect((await patch(id, { display_name: "Kept" }, poor.editor)).status).toBe(200);
  });

  test("build_on_push without an integration is accepted with a warning", async () => {
    const source_config = { ...SOURCE_CONFIG, build_on_push: true };
    const response = await api("/v2/deployments", {
      key: ours.editor,
      json: input({ source_config }),
    });
    expect(response.headers.get("X-Heddle-Warning")).toContain("no effect without an integration");
    const { id } = await response.json<Body>();
    const off = await patch(id, { source_config: { build_on_push: false } });
    expect(off.headers.get("X-Heddle-Warning")).toBeNull();
    const on = await patch(id, { source_config: { build_on_push: true } });
    expect(on.headers.get("X-Heddle-Warning")).toContain("integration_id");
  });

  test("custom_url is the deployment's own URL, which clients may send back", async () => {
    const { id, url } = await created({
      source_config: { ...SOURCE_CONFIG, custom_url: null, resource_spec: null },
    });
    for (const custom_url of [null, url]) {
      const answer = await patch(id, { source_config: { custom_url } });
      expect(answer.status).toBe(200);
      expect(await answer.json()).toMatchObject({ source_config: { custom_url: url } });
    }
    const refused = await patch(id, { source_config: { custom_url: "https://proxy.test" } });
    expect(refused.status).toBe(422);
    expect(await refused.text()).toContain("must be null or absent");
  });

  test("the config path is accepted under either name and returned under both", async () => {
    const { source_revision_config } = await created({
      source_revision_config: { repo_ref: "main", agent_config_path: "apps/a/langgraph.json" },
    });
    expect(source_revision_config).toMatchObject({
      agent_config_path: "apps/a/langgraph.json",
      langgraph_config_path: "apps/a/langgraph.json",
    });
  });

  test("an uploaded source waits for its tarball before it has a revision", async () => {
    const body = await created({
      source: "internal_source",
      source_config: { deployment_type: "dev" },
      source_revision_config: {},
    });
    expect(body.latest_revision_id).toBeNull();
    const early = await patch(body.id, { source_revision_config: { repo_ref: "x" } });
    expect(await early.json()).toMatchObject({ latest_revision_id: null });
    const foreign = await patch(body.id, {
      source_revision_config: {
        source_tarball_path: `uploads/${ours.workspace_id}/${UNKNOWN_ID}/a.tgz`,
      },
    });
    expect(foreign.status).toBe(422);
    const source_tarball_path = `uploads/${ours.workspace_id}/${body.id}/a.tgz`;
    await env.ARTIFACTS.put(source_tarball_path, "");
    const uploaded = await patch(body.id, { source_revision_config: { source_tarball_path } });
    expect(await uploaded.json()).toMatchObject({
      latest_revision_id: expect.any(String),
      source_revision_config: { source_tarball_path, langgraph_config_path: "langgraph.json" },
    });
  });

  test.each<[string, Record<string, unknown>, string, string]>([
    ["no name", { name: undefined }, "name", ""],
    ["a name with a space", { name: "my agent" }, "name", "letters, digits, -, _ and ."],
    ["a name of a dash", { name: "-" }, "name", "a letter or a digit"],
    ["an empty name", { name: "" }, "name", "a letter or a digit"],
    ["a long name", { name: "a".repeat(101) }, "name", "100"],
    [
      "a custom URL",
      { source_config: { ...SOURCE_CONFIG, custom_url: "https://proxy.test/" } },
      "custom_url",
      "must be null",
    ],
    ["an unknown source", { source: "svn" }, "source", ""],
    ["an image source", { source: "external_docker" }, "source", "images are not supported"],
    ["an internal image", { source: "internal_docker" }, "source", "images are not supported"],
    [
      "an image",
      { source_revision_config: { repo_ref: "main", image_uri: "a/b:1" } },
      "image_uri",
      "images are not supported",
    ],
    ["no repository", { source_config: { deployment_type: "dev" } }, "repo_url", "required"],
    [
      "a repository over ssh",
      { source_config: { repo_url: "git@host:a.git", deployment_type: "dev" } },
      "repo_url",
      "http:// or https://",
    ],
    [
      "a password in the URL",
      { source_config: { repo_url: "https://u:p@host/a.git", deployment_type: "dev" } },
      "repo_url",
      "without a user name",
    ],
    ["no type", { source_config: { repo_url: REPO_URL } }, "deployment_type", "required"],
    [
      "an unknown type",
      { source_config: { repo_url: REPO_URL, deployment_type: "huge" } },
      "deployment_type",
      "",
    ],
    ["no ref", { source_revision_config: {} }, "repo_ref", "required"],
    ...["a..b", ".", "a/./b", "refs//x", "a\0b", "-x", "@{1}"].map(
      (repo_ref): [string, Record<string, unknown>, string, string] => [
        `the ref ${JSON.stringify(repo_ref)}`,
        { source_revision_config: { repo_ref } },
        "repo_ref",
        "a branch",
      ],
    ),
    [
      "a path out of the tree",
      { source_revision_config: { repo_ref: "main", agent_config_path: "../langgraph.json" } },
      "agent_config_path",
      "inside the repository",
    ],
    [
      "two config paths",
      {
        source_revision_config: {
          repo_ref: "main",
          agent_config_path: "a.json",
          langgraph_config_path: "b.json",
        },
      },
      "agent_config_path",
      "send one of the two",
    ],
    [
      "an unknown integration",
      { source_config: { ...SOURCE_CONFIG, integration_id: UNKNOWN_ID } },
      "integration_id",
      "not found in this workspace",
    ],
    ["a wrong secret name", { secrets: [{ name: "1A", value: "" }] }, "secrets", '"1A" is not'],
    [
      "a reserved name",
      { secrets: [{ name: "PORT", value: "" }] },
      "secrets",
      '"PORT" is a reserved name',
    ],
    [
      "a secret given twice",
      {
        secrets: [
          { name: "A", value: "1" },
          { name: "A", value: "2" },
        ],
      },
      "secrets",
      '"A" occurs twice',
    ],
    [
      "a large secret",
      { secrets: [{ name: "A", value: "x".repeat(32_769) }] },
      "secrets",
      "more than 32768 bytes",
    ],
    [
      "many secrets",
      { secrets: Array.from({ length: 101 }, (_, at) => ({ name: `A${at}`, value: "" })) },
      "secrets",
      "at most 100",
    ],
    [
      "a flood of wrong secrets",
      { secrets: new Array(500_000).fill(0) },
      "secrets",
      "at most 1000",
    ],
    ["secrets that are no list", { secrets: {} }, "secrets", ""],
  ])("%s is refused with the field and the reason", async (_, fields, field, reason) => {
    const response = await api("/v2/deployments", { key: ours.editor, json: input(fields) });
    expect(response.status).toBe(422);
    const { detail } = await response.json<{ detail: { loc: string[]; msg: string }[] }>();
    expect(detail[0]?.loc[0]).toBe("body");
    expect(detail[0]?.loc).toContain(field);
    expect(detail[0]?.msg).toContain(reason);
  });

  test.each([
    ["too large", JSON.stringify("x".repeat(70_000))],
    ["too deep", `${"[".repeat(20_000)}${"]".repeat(20_000)}`],
    ["deeper than SQLite reads", `${"[".repeat(1500)}${"]".repeat(1500)}`],
  ])("a resource_spec that is %s is refused, and so is a change to it", async (_what, text) => {
    const { id } = await created();
    const send = (path: string, method: string, fields: object) => {
      const json = JSON.stringify({
        ...fields,
        source_config: { ...SOURCE_CONFIG, resource_spec: { a: 0 } },
      });
      const headers = { "Content-Type": "application/json" };
      const body = json.replace('{"a":0}', `{"a":${text}}`);
      return api(path, { key: ours.editor, method, headers, body });
    };
    for (const response of [
      await send("/v2/deployments", "POST", input()),
      await send(`/v2/deployments/${id}`, "PATCH", {}),
    ]) {
      expect(response.status).toBe(422);
      const { detail } = await response.json<{ detail: { loc: string[] }[] }>();
      expect(detail[0]?.loc).toEqual(["body", "source_config", "resource_spec"]);
    }
  });

  test("build_on_push and a tag exclude each other", async () => {
    const json = input({
      source_config: { ...SOURCE_CONFIG, build_on_push: true },
      source_revision_config: { repo_ref: "refs/tags/v1" },
    });
    const response = await api("/v2/deployments", { key: ours.editor, json });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ detail: expect.stringContaining("is a tag") });
  });

  test("a body that is not JSON is a 400", async () => {
    const response = await exports.default.fetch("https://heddle.test/v2/deployments", {
      method: "POST",
      headers: { "X-Api-Key": ours.editor, "Content-Type": "application/json" },
      body: "{",
    });
    expect(response.status).toBe(400);
  });
});

describe("listing", () => {
  test("pages are full until the last, and filters narrow them", async () => {
    const mine = await workspace();
    for (const name of ["alpha", "alphabet", "beta"]) {
      await api("/v2/deployments", { key: mine.editor, json: input({ name }) });
    }
    type List = { resources: Body[]; offset: number };
    const list = (query: string) => read<List>(`/v2/deployments?${query}`, mine.viewer);
    const namesOf = ({ resources }: List) => resources.map(({ name }) => name);
    const first = await list("limit=2");
    expect([namesOf(first), first.offset]).toEqual([["alpha", "alphabet"], 2]);
    const second = await list("limit=2&offset=2");
    expect([namesOf(second), second.offset]).toEqual([["beta"], 3]);
    expect(namesOf(await list("name=alpha"))).toEqual(["alpha"]);
    expect(namesOf(await list("name_contains=ALPHA"))).toEqual(["alpha", "alphabet"]);
    expect(namesOf(await list("name_contains=%25"))).toEqual([]);
    expect(namesOf(await list("status=AWAITING_DELETE"))).toEqual([]);
    expect(namesOf(await list("status=ready"))).toHaveLength(3);
    expect(namesOf(await list("name_contains=a&limit=1"))).toEqual(["alpha"]);
    expect(namesOf(await list("name_contains=beta&limit=1"))).toEqual(["beta"]);
    expect(namesOf(await list("deployment_type=dev"))).toHaveLength(3);
    expect(namesOf(await list("deployment_type=prod"))).toEqual([]);
    const [alpha, , beta] = (await list("")).resources;
    const ids = `${beta?.id},%20${alpha?.id.toUpperCase()},${UNKNOWN_ID}`;
    expect(namesOf(await list(`deployment_ids=${ids}`))).toEqual(["alpha", "beta"]);
    const absent = ["image_version=1", "image_version=", "agent_id=a", "agent_environment=dev"];
    for (const none of [...absent, `tag_value_ids=${UNKNOWN_ID}`]) {
      expect(namesOf(await list(none))).toEqual([]);
    }
  });

  test("an exact name is listed first, and deployments in deletion only on request", async () => {
    const mine = await workspace();
    for (const name of ["chat-one", "chat"]) {
      await api("/v2/deployments", { key: mine.editor, json: input({ name }) });
    }
    type List = { resources: Body[] };
    const list = async (query: string) =>
      (await read<List>(`/v2/deployments?${query}`, mine.viewer)).resources;
    const [chat] = await list("name_contains=chat");
    expect(chat?.name).toBe("chat");
    await api(`/v2/deployments/${chat?.id}`, { key: mine.admin, method: "DELETE" });
    expect((await list("")).map(({ name }) => name)).toEqual(["chat-one"]);
  });

  test.each([
    "limit=0",
    "limit=101",
    "limit=x",
    "offset=-1",
    "status=nope",
    "deployment_type=huge",
    "deployment_ids=nope",
    `deployment_ids=${`${UNKNOWN_ID},`.repeat(100)}${UNKNOWN_ID}`,
    "remote_reconciled=maybe",
    "tag_value_ids=nope",
  ])("?%s is refused", async (query) => {
    expect((await api(`/v2/deployments?${query}`, { key: ours.viewer })).status).toBe(422);
  });
});

describe("changing", () => {
  test("a source_revision_config makes a revision over the one before; other fields do not", async () => {
    const { id, latest_revision_id } = await created({
      source_revision_config: { repo_ref: "main", agent_config_path: "a.json" },
    });
    const plain = await patch(id, {
      display_name: "Support",
      source_config: { build_on_push: true, resource_spec: { cpu: 1 }, repo_url: REPO_URL },
      source_revision_config: null,
    });
    expect(plain.status).toBe(200);
    expect(await plain.json()).toMatchObject({
      display_name: "Support",
      latest_revision_id,
      source_config: { build_on_push: true, resource_spec: { cpu: 1 }, deployment_type: "dev" },
    });
    const built = await patch(id, {
      source_revision_config: { repo_ref: "next", image_uri: null },
    });
    const body = await built.json<Body>();
    expect(body.latest_revision_id).not.toBe(latest_revision_id);
    expect(body.source_revision_config).toMatchObject({
      repo_ref: "next",
      agent_config_path: "a.json",
    });
    const { resources, offset } = await read<{ resources: Body[]; offset: number }>(
      `/v2/deployments/${id}/revisions`,
    );
    expect(resources.map((revision) => revision.id)).toEqual([
      body.latest_revision_id,
      latest_revision_id,
    ]);
    expect(offset).toBe(2);
    expect(resources[1]?.source_revision_config).toMatchObject({ repo_ref: "main" });
  });

  test("two changes at once both stay", async () => {
    const { id } = await created();
    const changes = [{ repo_ref: "next" }, { agent_config_path: "b.json" }];
    const answers = await Promise.all(
      changes.map((source_revision_config) => patch(id, { source_revision_config })),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const body = await read(`/v2/deployments/${id}`);
    expect(body.source_revision_config).toMatchObject({
      repo_ref: "next",
      agent_config_path: "b.json",
    });
    const { resources } = await read<{ resources: Body[] }>(`/v2/deployments/${id}/revisions`);
    expect(resources).toHaveLength(3);
  });

  test.each<[string, Record<string, unknown>]>([
    ["name", { name: "other" }],
    ["source", { source: "internal_source" }],
    ["repo_url", { source_config: { repo_url: "https://git.test/other.git" } }],
    ["deployment_type", { source_config: { deployment_type: "prod" } }],
  ])("%s cannot be changed", async (field, json) => {
    const { id } = await created();
    const response = await patch(id, json);
    expect(response.status).toBe(422);
    const { detail } = await response.json<{ detail: { loc: string[]; msg: string }[] }>();
    expect(detail[0]?.loc).toContain(field);
    expect(detail[0]?.msg).toContain("cannot change");
  });

  test("a secret's value is in no answer, and not in the database as it is", async () => {
    const value = "sk-never-to-be-seen";
    const { id } = await created({ secrets: [{ name: "KEY", value }] });
    const answers = await Promise.all([
      api(`/v2/deployments/${id}`, { key: ours.admin }),
      api("/v2/deployments?limit=100", { key: ours.admin }),
      patch(id, { display_name: "x", secrets: [{ name: "KEY", value }] }),
      api(`/v2/deployments/${id}/revisions`, { key: ours.admin }),
    ]);
    for (const answer of answers) expect(await answer.text()).not.toContain(value);
    const rows = await database(env).select().from(secrets);
    expect(JSON.stringify(rows)).not.toContain(value);
    const frozen = await database(env).select().from(revisions);
    expect(JSON.stringify(frozen)).not.toContain(value);
  });
});

describe("revisions", () => {
  test("statuses narrow the list, and an unknown one is refused", async () => {
    const { id } = await created();
    const path = `/v2/deployments/${id}/revisions`;
    type List = { resources: Body[]; offset: number };
    expect((await read<List>(`${path}?status=DEPLOYED,SKIPPED`)).resources).toEqual([]);
    expect((await read<List>(`${path}?limit=1`)).offset).toBe(1);
    const any = "awaiting_build,Building,BUILD_FAILED";
    expect((await read<List>(`${path}?status=${any}`)).resources).toHaveLength(1);
    for (const query of ["status=DONE", "limit=0", "limit=101"]) {
      expect((await api(`${path}?${query}`, { key: ours.viewer })).status).toBe(422);
    }
  });
});

describe("deleting several", () => {
  test("answers 200 for all, 207 for some, 404 for none", async () => {
    const [one, two, three] = [await created(), await created(), await created()];
    const remove = (...ids: string[]) =>
      api(`/v2/deployments?${ids.map((id) => `deployment_ids=${id}`).join("&")}`, {
        key: ours.admin,
        method: "DELETE",
      });
    const all = await remove(one.id, two.id, one.id);
    expect(all.status).toBe(200);
    expect(await all.json()).toEqual({ deleted: [one.id, two.id], failed: [] });
    const some = await remove(three.id, UNKNOWN_ID);
    expect(some.status).toBe(207);
    expect(await some.json()).toEqual({
      deleted: [three.id],
      failed: [{ id: UNKNOWN_ID, detail: `Deployment ID ${UNKNOWN_ID} not found.` }],
    });
    expect((await remove(UNKNOWN_ID)).status).toBe(404);
    const none = await remove();
    expect([none.status, await none.json()]).toEqual([
      422,
      {
        detail: [{ loc: ["query", "deployment_ids"], msg: "is required", type: "missing" }],
      },
    ]);
    expect((await remove("nope")).status).toBe(422);
    expect((await remove(...Array.from({ length: 101 }, () => UNKNOWN_ID))).status).toBe(422);
  });
});

test("deleting several during an outage is a 503, and they are there afterwards", async () => {
  const { id } = await created();
  const text = "D1_ERROR: D1 DB is overloaded. Requests queued for too long.";
  const batch = vi.spyOn(Object.getPrototypeOf(env.DB), "batch").mockRejectedValue(new Error(text));
  onTestFinished(() => batch.mockRestore());
  const path = `/v2/deployments?deployment_ids=${id}`;
  expect((await api(path, { key: ours.admin, method: "DELETE" })).status).toBe(503);
  batch.mockRestore();
  expect((await api(`/v2/deployments/${id}`, { key: ours.viewer })).status).toBe(200);
});

describe("access by role", () => {
  const operations: [string, string, unknown][] = [
    ["POST", "/v2/deployments", {}],
    ["GET", "/v2/deployments", undefined],
    ["GET", "/v2/deployments/{id}", undefined],
    ["PATCH", "/v2/deployments/{id}", { display_name: "x" }],
    ["DELETE", "/v2/deployments/{id}", undefined],
    ["GET", "/v2/deployments/{id}/revisions", undefined],
    ["GET", "/v2/deployments/{id}/revisions/{rev}", undefined],
    ["POST", "/v2/deployments/{id}/revisions", {}],
    ["POST", "/v2/deployments/{id}/revisions/{rev}/redeploy", undefined],
    ["POST", "/v2/deployments/{id}/revisions/{rev}/interrupt", undefined],
    ["POST", "/v2/deployments/{id}/upload-url", undefined],
    ["POST", "/v2/deployments/{id}/push-token", undefined],
    ["DELETE", "/v2/deployments?deployment_ids={id}", undefined],
    ["POST", "/v1/projects/{id}/revisions/{rev}/build_logs", {}],
    ["POST", "/v1/projects/{id}/deploy_logs", {}],
    ["POST", "/v1/projects/{id}/revisions/{rev}/deploy_logs", {}],
    ["POST", "/v1/projects/{id}/revisions/{rev}/deploy", undefined],
    ["GET", "/v1/integrations/github/install", undefined],
    ["POST", "/v1/integrations/github/install", { name: "a", token: "b" }],
  ];

  async function call(key: string | undefined, [method, path, json]: (typeof operations)[number]) {
    const { id, latest_revision_id } = await created();
    return api(path.replace("{id}", id).replace("{rev}", latest_revision_id), {
      ...(key !== undefined && { key }),
      method,
      ...(json !== undefined && { json }),
    });
  }

  test.each(operations)("%s %s needs a key", async (...operation) => {
    expect((await call(undefined, operation)).status).toBe(401);
  });

  test.each(operations.filter(([, path]) => path.includes("{id}")))(
    "%s %s of another workspace is not found",
    async (...operation) => {
      const response = await call(theirs.admin, operation);
      expect(response.status).toBe(404);
      expect(await response.json()).toEqual({
        detail: expect.stringMatching(/^Deployment ID [0-9a-f-]{36} not found\.$/),
      });
    },
  );

  test.each([
    ["PATCH", "/v2/deployments/{id}", { display_name: "x" }],
    ["DELETE", "/v2/deployments/{id}", undefined],
    ["DELETE", "/v2/deployments?deployment_ids={id}", undefined],
    ["POST", "/v2/deployments/{id}/revisions", {}],
    ["POST", "/v2/deployments/{id}/revisions/{rev}/redeploy", undefined],
    ["POST", "/v2/deployments/{id}/revisions/{rev}/interrupt", undefined],
    ["POST", "/v2/deployments/{id}/upload-url", undefined],
    ["POST", "/v2/deployments/{id}/push-token", undefined],
    ["POST", "/v1/projects/{id}/revisions/{rev}/deploy", undefined],
    ["POST", "/v1/integrations/github/install", { name: "a", token: "b" }],
  ])("%s %s is not for a viewer", async (...operation) => {
    expect((await call(ours.viewer, operation)).status).toBe(403);
  });

  test("a viewer cannot create, an editor cannot delete", async () => {
    const response = await api("/v2/deployments", { key: ours.viewer, json: input() });
    expect(response.status).toBe(403);
    const { id } = await created();
    const path = `/v2/deployments/${id}`;
    expect((await api(path, { key: ours.editor, method: "DELETE" })).status).toBe(403);
  });

  test("ids are read in either case", async () => {
    const { id, latest_revision_id } = await created();
    const path = `/v2/deployments/${id.toUpperCase()}`;
    expect(await read(path)).toMatchObject({ id });
    expect(await read(`${path}/revisions/${latest_revision_id.toUpperCase()}`)).toMatchObject({
      id: latest_revision_id,
    });
  });

  test("a missing id is not found, and one that is not a UUID is refused", async () => {
    const { id } = await created();
    const get = (path: string) => api(path, { key: ours.viewer });
    const missing = await get(`/v2/deployments/${UNKNOWN_ID}`);
    expect(missing.status).toBe(404);
    expect(await missing.json()).toEqual({ detail: `Deployment ID ${UNKNOWN_ID} not found.` });
    const revision = await get(`/v2/deployments/${id}/revisions/${UNKNOWN_ID}`);
    expect(revision.status).toBe(404);
    expect(await revision.json()).toEqual({ detail: `Revision ID ${UNKNOWN_ID} not found.` });
    expect((await get("/v2/deployments/nope")).status).toBe(422);
    expect((await get(`/v2/deployments/${id}/revisions/nope`)).status).toBe(422);
  });
});

test("a deployment has a tracing project of its name, which is deleted with it only on request", async () => {
  const make = async () => {
    const response = await api("/v2/deployments", { key: ours.admin, json: input({}) });
    return response.json<{ id: string; name: string; tracing_project_id: string }>();
  };
  const project = (id: string) => api(`/api/v1/sessions/${id}`, { key: ours.admin });
  const [kept, gone] = [await make(), await make()];
  expect(await (await project(kept.tracing_project_id)).json()).toMatchObject({ name: kept.name });
  const remove = (path: string) => api(path, { key: ours.admin, method: "DELETE" });
  expect((await remove(`/v2/deployments/${kept.id}`)).status).toBe(204);
  const query = "?delete_tracing_project=true";
  expect((await remove(`/v2/deployments/${gone.id}${query}`)).status).toBe(204);
  expect((await project(kept.tracing_project_id)).status).toBe(200);
  expect((await project(gone.tracing_project_id)).status).toBe(404);
});

describe("commands of the build", () => {
  const create = (fields: Record<string, unknown>) =>
    api("/v2/deployments", {
      key: ours.editor,
      json: input({ source_config: { ...SOURCE_CONFIG, ...fields } }),
    });

  test.each([
    ["install_command", "npm ci --legacy-peer-deps", 201],
    ["install_command", "yarn install --frozen-lockfile", 201],
    ["install_command", "npm install left-pad", 422],
    ["install_command", "npm ci && npm run generate", 422],
    ["build_command", "", 201],
    ["build_command", "npm run build", 422],
  ])("%s %j is answered with %i", async (field, command, status) => {
    const response = await create({ [field]: command });
    expect(response.status).toBe(status);
    if (status === 201) return;
    const text = JSON.stringify(await response.json());
    expect(text).toContain(field);
    expect(text).toContain("runs no command");
  });
});
