import { describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import {
  awaitRevision,
  build,
  createBody,
  type Deployment,
  exampleUrl,
  type Revision,
  uniqueName,
} from "./support/deployments.ts";
import { request } from "./support/http.ts";
import { pushRepository } from "./support/repositories.ts";
import { stack, until } from "./support/stack.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

describe.each(["/v2", "/api-host/v2"])("the quick start under %s", (base) => {
  test("create, get, poll until DEPLOYED, patch, delete until 404", async () => {
    const name = uniqueName("quickstart");
    const body = createBody(name, exampleUrl("echo"), {
      secrets: [{ name: "MODEL_KEY", value: "sk-secret" }],
    });
    const created = await request<Deployment>("POST", `${base}/deployments`, body);
    expect(created.status).toBe(201);
    expect(created.body.id).toMatch(UUID);
    expect(created.body.latest_revision_id).toMatch(UUID);
    expect(JSON.stringify(created.body)).not.toContain("sk-secret");
    const { id, latest_revision_id } = created.body;

    const read = await request<Deployment>("GET", `${base}/deployments/${id}`);
    expect(read.status).toBe(200);
    expect(read.body).toMatchObject({ id, name, tenant_id: stack.tenant_id, latest_revision_id });

    const first = await awaitRevision(id, latest_revision_id);
    expect(first.status).toBe("DEPLOYED");
    const serving = await request<Deployment>("GET", `${base}/deployments/${id}`);
    expect(serving.body.active_revision_id).toBe(latest_revision_id);

    const patched = await request<Deployment>("PATCH", `${base}/deployments/${id}`, {
      source_config: { build_on_push: true },
      source_revision_config: { repo_ref: "main", agent_config_path: "langgraph.json" },
    });
    expect(patched.status).toBe(200);
    const second_id = patched.body.latest_revision_id;
    expect(second_id).not.toBe(latest_revision_id);
    expect((await awaitRevision(id, second_id)).status).toBe("DEPLOYED");

    const list = await request<{ resources: Revision[] }>(
      "GET",
      `${base}/deployments/${id}/revisions`,
    );
    expect(list.status).toBe(200);
    expect(list.body.resources.map((revision) => revision.id)).toEqual([
      second_id,
      latest_revision_id,
    ]);

    const deleted = await request("DELETE", `${base}/deployments/${id}`);
    expect([deleted.status, deleted.body]).toEqual([204, ""]);
    await until(
      "The deployment's end",
      () => request("GET", `${base}/deployments/${id}`),
      ({ status }) => status === 404,
    );
  });

  test("no key is a 401, a wrong one too", async () => {
    const path = `${base}/deployments`;
    const none = await fetch(stack.base_url + path);
    expect(none.status).toBe(401);
    await none.body?.cancel();
    expect((await request("GET", path, undefined, { "x-api-key": "wrong" })).status).toBe(401);
  });
});

test("malformed JSON and a missing name are refused with their reason", async () => {
  const malformed = await fetch(`${stack.base_url}/v2/deployments`, {
    method: "POST",
    headers: { "x-api-key": stack.api_key, "content-type": "application/json" },
    body: '{"name":',
  });
  expect(malformed.status).toBeGreaterThanOrEqual(400);
  expect(malformed.status).toBeLessThan(500);
  expect(await malformed.json()).toHaveProperty("detail");

  const { name: _, ...nameless } = createBody("x", exampleUrl("echo"));
  const refused = await request<{ detail: { loc: string[]; msg: string; type: string }[] }>(
    "POST",
    "/v2/deployments",
    nameless,
  );
  expect(refused.status).toBe(422);
  expect(refused.body.detail[0]?.loc).toContain("name");
});

const ECHO = `export async function* agent(input) { yield { messages: [{ role: "assistant", content: "ok" }] }; }`;
const CONFIG = JSON.stringify({ graphs: { agent: "./agent.ts:agent" } });

describe("a source that cannot be built ends as a failed revision with its reason", () => {
  test("a repository that is not there", async () => {
    const { revision } = await build("missing", `${stack.git.url}/tests/not-there.git`);
    expect(revision).toMatchObject({ status: "BUILD_FAILED" });
    expect(revision.status_reason).toMatch(/^source_(not_found|unauthorized)$/);
  });

  test("a branch that is not there", async () => {
    const { revision } = await build("branch", exampleUrl("echo"), { repo_ref: "not-there" });
    expect(revision).toMatchObject({ status: "BUILD_FAILED", status_reason: "ref_not_found" });
    expect(revision.status_message).toContain("not-there");
  });

  test("a configuration file that is not there", async () => {
    const { revision } = await build("config", exampleUrl("echo"), { config_path: "other.json" });
    expect(revision).toMatchObject({ status: "BUILD_FAILED", status_reason: "config_not_found" });
    expect(revision.status_message).toContain("other.json");
  });

  test.each([
    ["a configuration that is not JSON", { "langgraph.json": "{" }, "config_invalid"],
    [
      "a Python graph",
      {
        "langgraph.json": JSON.stringify({ graphs: { agent: "./agent.py:graph" } }),
        "agent.py": "",
      },
      "unsupported_language",
    ],
    ["a graph file that is not there", { "langgraph.json": CONFIG }, "graph_not_found"],
    [
      "a syntax error",
      { "langgraph.json": CONFIG, "agent.ts": "export const agent = (;" },
      "bundle_failed",
    ],
    [
      "an agent that throws while it loads",
      { "langgraph.json": CONFIG, "agent.ts": `\n  throw new Error("boom at load"); ${ECHO}` },
      "graph_load_failed",
      'agent.ts:2:9\n      throw new Error("boom at load");',
    ],
  ])("%s", async (_case, files, status_reason, message = "") => {
    const name = uniqueName("broken");
    const { id, revision } = await build(name, await pushRepository(name, files));
    expect(revision).toMatchObject({ status: "BUILD_FAILED", status_reason });
    expect(revision.status_message).not.toBe("");
    expect(revision.status_message).toContain(message);
    const page = await request<{ logs: { level: string; message: string }[] }>(
      "POST",
      `/v1/projects/${id}/revisions/${revision.id}/build_logs`,
      {},
    );
    expect(page.body.logs.some(({ level }) => level === "ERROR")).toBe(true);
  });
});

test("a failed push leaves the revision before it in service", async () => {
  const name = uniqueName("keeps");
  const { id, revision } = await build(
    name,
    await pushRepository(name, { "langgraph.json": CONFIG, "agent.ts": ECHO }),
  );
  expect(revision.status).toBe("DEPLOYED");
  await pushRepository(name, { "langgraph.json": CONFIG, "agent.ts": "const broken = " });
  const patched = await request<Deployment>("PATCH", `/v2/deployments/${id}`, {
    source_revision_config: { repo_ref: "main" },
  });
  const failed = await awaitRevision(id, patched.body.latest_revision_id);
  expect(failed.status).toBe("BUILD_FAILED");
  const { body } = await request<Deployment>("GET", `/v2/deployments/${id}`);
  expect(body.active_revision_id).toBe(revision.id);
});

test("the exception of a run is in the deploy logs, at its place in the repository", async () => {
  const name = uniqueName("throws");
  const agent = `type Input = { a: number };\n\nexport async function agent(input: Input) {\n  throw new RangeError("no " + input.a);\n}\n`;
  const { id, revision } = await build(
    name,
    await pushRepository(name, { "langgraph.json": CONFIG, "agent.ts": agent }),
  );
  expect(revision.status).toBe("DEPLOYED");
  await request("POST", `/agents/${id}/runs/wait`, { assistant_id: "agent", input: { a: 7 } });
  const logs = async () => {
    const path = `/v1/projects/${id}/deploy_logs`;
    const json = { level: "ERROR" };
    const { body } = await request<{ logs: { message: string }[] }>("POST", path, json);
    return body.logs.map(({ message }) => message);
  };
  await eventually(async () => expect(await logs()).toHaveLength(1));
  const [message = ""] = await logs();
  expect(message).toContain("failed: RangeError: no 7");
  expect(message).toContain("agent.ts:4:9");
  expect(message).toContain('throw new RangeError("no " + input.a);');
});
