import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { testDeployment } from "../../support/agent-deployment.ts";
import { agentWithUsers, answerOf, type UserCall } from "../../support/agent-users.ts";
import { putArtifact } from "../../support/deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { endOfRun, openSocket, protocolOf } from "../../support/protocol.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

/** The queue also has webhooks of other tests, whose receivers are slow. */
const SLOW_MS = 120_000;

const APP = { app: "./src/app.ts:app" };
const input = { messages: [{ role: "human", content: "hello" }] };

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});

async function agent(http: Record<string, unknown> = {}) {
  const { deployment_id } = await testDeployment(ours.workspace_id, { http: { ...APP, ...http } });
  const base = `/agents/${deployment_id}`;
  const call: UserCall = (path, sent = {}) => answerOf(base + path, { key: ours.admin, ...sent });
  return { base, call, deployment_id };
}

describe("the agent's own HTTP app", () => {
  let base: string;
  let call: UserCall;
  beforeAll(async () => {
    ({ base, call } = await agent());
  });

  test("has its middleware around the routes of the server", async () => {
    const info = await call("/info");
    expect(info.status).toBe(200);
    expect(info.json).toHaveProperty("version");
    expect(info.headers.get("x-js-middleware")).toBe("true");
    expect((await call("/info?interrupt")).json).toEqual({ status: "interrupted" });
  });

  test("has its own routes, also below those of the server", async () => {
    expect((await call("/runs/afakeroute")).json).toEqual({ foo: "afakeroute" });
    const who = await call("/custom/who?a=b");
    expect(who.json).toMatchObject({ path: "/custom/who", user: null });
    expect((who.json as { url: string }).url).toMatch(/^https:\/\/[^/]+\/custom\/who\?a=b$/);
  });

  test("with strict: false has its routes with a trailing slash too", async () => {
    expect((await call("/custom/who/")).json).toMatchObject({ path: "/custom/who" });
    expect((await call("/info/?interrupt")).json).toEqual({ status: "interrupted" });
    expect((await call("/custom/unknown/")).status).toBe(404);
  });

  test("has its middleware around events and sockets of the v2 protocol", async () => {
    const { start, events, socket, path } = protocolOf(base, ours.admin);
    await start("echo", { input });
    expect((await events(endOfRun())).length).toBeGreaterThan(5);
    const { command, ends, answered } = await socket();
    expect(answered.get("x-js-middleware")).toBe("true");
    await command("subscription.subscribe", { channels: ["lifecycle"] });
    await command("run.start", { assistant_id: "echo", input });
    await ends(2);
    const wrong = await openSocket(path, { "X-Api-Key": "wrong" });
    expect(await wrong.closed).toMatchObject({ code: 4401 });
    const headers = { Upgrade: "websocket" };
    const stopped = await call("/info?interrupt", { headers });
    expect(stopped.json).toEqual({ status: "interrupted" });
  });

  test("returns HTTP errors that it throws, and hides other errors", async () => {
    const thrown = await call("/custom/error");
    expect([thrown.status, thrown.text]).toEqual([400, "Bad request"]);
    const crashed = await call("/custom/crash");
    expect([crashed.status, crashed.text]).toEqual([500, "Internal Server Error"]);
    const unknown = await call("/custom/unknown");
    expect([unknown.status, unknown.text]).toEqual([404, "404 Not Found"]);
  });

  test("keeps status, text and headers of the server's answers", async () => {
    const id = crypto.randomUUID();
    const missing = await call(`/threads/${id}`);
    expect([missing.status, missing.text]).toEqual([404, `Thread with ID ${id} not found`]);
    const made = await call("/threads", { json: {} });
    const { thread_id } = made.json as { thread_id: string };
    const run = await call(`/threads/${thread_id}/runs`, { json: { assistant_id: "echo", input } });
    expect(run.headers.get("Content-Location")).toMatch(/^\/threads\/.+\/runs\/.+$/);
    const deleted = await call(`/threads/${thread_id}`, { method: "DELETE" });
    expect([deleted.status, deleted.text]).toEqual([204, ""]);
  });

  test("errors of the server have the same status and text with an app and without", async () => {
    const { base: plain } = await agent({ app: null });
    const sent = [
      { path: "/threads", body: "{no json", type: "application/json" },
      { path: "/threads", body: "", type: "application/json" },
      { path: "/threads", body: "{}", type: "text/plain" },
      { path: "/threads", body: '{"thread_id":7}', type: "application/json" },
      { path: "/runs/wait", body: '{"assistant_id":"none"}', type: "application/json" },
    ];
    for (const { path, body, type } of sent) {
      const request = { key: ours.admin, method: "POST", body, headers: { "Content-Type": type } };
      const [wrapped, bare] = await Promise.all(
        [base, plain].map((at) => answerOf(at + path, request)),
      );
      expect([path, body, wrapped?.status, wrapped?.text]).toEqual([
        ...[path, body, bare?.status, bare?.text],
      ]);
    }
  });

  test("a middleware reads a body before the server does and can replace it", async () => {
    const json = { assistant_id: "config", input: {} };
    for (const path of ["/runs/wait", "/runs/stream"]) {
      const headers = { "x-into-body": "by the app" };
      expect((await call(path, { json, headers })).text, path).toContain(
        '"from_middleware":"by the app"',
      );
      expect((await call(path, { json })).text, path).not.toContain("from_middleware");
    }
    const headers = { "x-into-body": "1", "Content-Type": "application/json" };
    const response = await api(`${base}/runs/wait`, {
      key: ours.admin,
      method: "POST",
      headers,
      body: "{no json",
    });
    expect(response.status).toBeGreaterThanOrEqual(400);
  });

  test("reads the empty body of a GET", async () => {
    const { status } = await call("/info", { headers: { "x-reads-text": "1" } });
    expect(status).toBe(200);
  });

  test("holds back nothing of a stream", async () => {
    const made = await call("/threads", { json: {} });
    const { thread_id } = made.json as { thread_id: string };
    const runs = `/threads/${thread_id}/runs`;
    const json = { assistant_id: "plain", input: { text: "a", wait_ms: 600_000 } };
    const response = await api(`${base}${runs}/stream`, { key: ours.admin, json });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(new TextDecoder().decode(first?.value)).toContain("event: metadata");
    const { json: listed } = await call(runs);
    expect(listed).toMatchObject([{ status: "running" }]);
    const [{ run_id } = { run_id: "" }] = listed as { run_id: string }[];
    expect((await call(`${runs}/${run_id}/cancel`, { json: {} })).status).toBe(202);
    await reader?.cancel();
    expect((await call("/custom/stream")).text).toBe("Count: 0\nCount: 1\nCount: 2\n");
  });

  test("a client that disconnects cancels the run with on_disconnect", async () => {
    const made = await call("/threads", { json: {} });
    const { thread_id } = made.json as { thread_id: string };
    const response = await api(`${base}/threads/${thread_id}/runs/stream`, {
      key: ours.admin,
      json: {
        assistant_id: "plain",
        input: { text: "a", wait_ms: 60_000 },
        on_disconnect: "cancel",
      },
    });
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await eventually(
      async () => {
        const { json } = await call(`/threads/${thread_id}/runs`);
        expect(json).toMatchObject([{ status: "interrupted" }]);
      },
      { interval: 100 },
    );
  });

  test("a client of the SDK without a URL reaches the server that it is on", async () => {
    for (const path of ["/custom/client", "/custom/client?shared"]) {
      expect((await call(path)).json, path).toMatchObject({
        messages: [{ content: "from within" }, { content: "echo: from within" }],
      });
    }
  });

  test("and so does one in a graph, also without an app", async () => {
    const { base: plain } = await agent({ app: null });
    for (const at of [base, plain]) {
      const json = { assistant_id: "calls", input };
      const { text } = await answerOf(`${at}/runs/wait`, { key: ours.admin, json });
      expect(text).toContain("echo: hello");
    }
  });

  test("that calls itself without end is stopped", async () => {
    const { status, text } = await call("/custom/loop");
    expect([status, text]).toEqual([508, expect.stringContaining("times recursively")]);
  });

  test("does not receive the workspace's key and answers only the workspace", async () => {
    expect((await call("/custom/who")).json).toMatchObject({ credentials: [null, null] });
    const bearer = { headers: { Authorization: `Bearer ${ours.admin}` } };
    expect((await answerOf(`${base}/custom/who`, bearer)).json).toMatchObject({
      credentials: [null, null],
    });
    const own = { key: ours.admin, headers: { Authorization: "Bearer own" } };
    expect((await answerOf(`${base}/custom/who`, own)).json).toMatchObject({
      credentials: [null, "Bearer own"],
    });
    expect((await answerOf(`${base}/custom/who`, {})).status).toBe(401);
    const theirs = await workspace();
    for (const path of ["/custom/who", "/info", "/custom/unknown"]) {
      expect((await answerOf(base + path, { key: theirs.admin })).status, path).toBe(404);
    }
  });

  test("keeps the permissions of a key on the server's routes", async () => {
    const viewer = { key: ours.viewer, json: {} };
    expect((await answerOf(`${base}/threads`, viewer)).status).toBe(403);
    expect((await answerOf(`${base}/threads/search`, viewer)).status).toBe(200);
  });
});

describe("an app beside users", () => {
  test("runs after them, receives them, and cannot be bypassed", async () => {
    const { as, admin, base } = await agentWithUsers({ http: APP });
    expect((await as(null)("/custom/who")).status).toBe(401);
    expect((await answerOf(`${base}/custom/who`, { key: admin })).status).toBe(401);
    const who = await as("anna:me")("/custom/who");
    expect(who.json).toMatchObject({ user: { identity: "anna" } });
    const anna = as("anna");
    const { json } = await anna("/threads", { json: {} });
    const { thread_id } = json as { thread_id: string };
    expect((await as("bob")(`/threads/${thread_id}`)).status).toBe(404);
    expect((await as("nobody")("/threads", { json: {} })).status).toBe(403);
    expect((await anna("/threads/search", { json: {} })).json).toMatchObject([{ thread_id }]);
    expect((await as(null)("/info")).headers.get("x-js-middleware")).toBe("true");
  });

  test("its client acts as the credentials it sends, and is anonymous without", async () => {
    const { as } = await agentWithUsers({ http: APP });
    const found = await as("anna")("/custom/client");
    expect(found.json).toMatchObject({ messages: [{}, { content: "echo: from within" }] });
    expect((await as("anna")("/custom/client?shared")).status).toBe(500);
  });

  test.each([{ enable_custom_route_auth: false }, { middleware_order: "middleware_first" }])(
    "%j: its own routes are for everybody, the server's are not",
    async (more) => {
      const { as, base, admin } = await agentWithUsers({ http: { ...APP, ...more } });
      expect((await as(null)("/custom/who")).json).toMatchObject({ user: null });
      expect((await as(null)("/threads", { json: {} })).status).toBe(401);
      expect((await answerOf(`${base}/threads`, { key: admin, json: {} })).status).toBe(401);
      expect((await as("anna")("/threads", { json: {} })).json).toMatchObject({
        metadata: { owner: "anna" },
      });
      const keyed = await agent(more);
      expect((await answerOf(`${keyed.base}/custom/who`, {})).status).toBe(200);
      expect((await answerOf(`${keyed.base}/threads`, { json: {} })).status).toBe(401);
      expect((await keyed.call("/threads", { json: {} })).status).toBe(200);
    },
  );
});

test("an app that comes first serves no revision that is not active without a key", async () => {
  const { base, call, deployment_id } = await agent({ enable_custom_route_auth: false });
  const { revision_id } = await testDeployment(ours.workspace_id, {
    http: { ...APP, enable_custom_route_auth: false },
  });
  await env.DB.prepare("UPDATE revisions SET deployment_id = ?, number = 2 WHERE id = ?")
    .bind(deployment_id, revision_id)
    .run();
  const path = `/revisions/${revision_id}/custom/who`;
  expect((await answerOf(`${base}/custom/who`, {})).status).toBe(200);
  expect((await answerOf(base + path, {})).status).toBe(401);
  expect((await call(path)).status).toBe(200);
  const { admin } = await workspace();
  expect((await answerOf(base + path, { key: admin })).status).toBe(404);
});

describe("a webhook that is a path", () => {
  type Received = { body: Record<string, unknown>; headers: Record<string, string>; user: unknown };

  const receivedBy = async (call: UserCall, run_id: string) => {
    const all = (await call("/custom/told")).json as Received[];
    return all.filter(({ body }) => body.run_id === run_id);
  };

  async function runWith(call: UserCall, webhook: string) {
    const { thread_id } = (await call("/threads", { json: {} })).json as { thread_id: string };
    const json = { assistant_id: "echo", input, webhook };
    const { run_id } = (await call(`/threads/${thread_id}/runs`, { json })).json as {
      run_id: string;
    };
    const delivery = await eventually(async () => {
      const { json } = await call(`/threads/${thread_id}/runs/${run_id}/webhook`);
      expect(json).toMatchObject({ attempts: [{ duration_ms: expect.any(Number) }] });
      return json;
    });
    return { run_id, delivery };
  }

  test(
    "delivers to the agent's own app",
    async () => {
      const { call } = await agent();
      const { run_id, delivery } = await runWith(call, "/custom/webhook");
      expect(delivery).toMatchObject({ status: "delivered", url: "/custom/webhook" });
      const [one, ...more] = await receivedBy(call, run_id);
      expect(more).toEqual([]);
      expect(one).toMatchObject({
        body: { status: "success", values: { messages: [{}, { content: "echo: hello" }] } },
        headers: { "webhook-id": run_id },
        user: null,
      });
    },
    SLOW_MS,
  );

  test(
    "delivers as the user who created the run",
    async () => {
      const { as } = await agentWithUsers({ http: APP });
      const { run_id } = await runWith(as("anna:me"), "/custom/webhook");
      const [one] = await receivedBy(as("anna"), run_id);
      expect(one).toMatchObject({ user: { identity: "anna", permissions: ["me"] } });
    },
    SLOW_MS,
  );

  test("reaches no other path than those of the app", async () => {
    const { as } = await agentWithUsers({ http: APP });
    const eve = as("eve");
    for (const path of ["/threads", "/runs/cancel", "/custom/none"]) {
      const { delivery } = await runWith(eve, path);
      expect(delivery, path).toMatchObject({ attempts: [{ status: 404 }] });
    }
    expect((await as("admin")("/threads/count", { json: {} })).text).toBe("3");
  }, 60_000);

  test.each(["//receiver.example/", "/\\receiver.example", "/a b"])(
    "%s is none",
    async (webhook) => {
      const { call } = await agent();
      const { status, text } = await call("/runs", { json: { assistant_id: "echo", webhook } });
      expect([status, text]).toEqual([422, expect.stringContaining("webhook: must be a path")]);
    },
  );
});

test.each([{ http: APP }, { auth: { path: "./src/auth.ts:auth" } }])(
  "a revision that was built before Heddle served %j is refused with the reason",
  async (config) => {
    const { deployment_id, revision_id } = await testDeployment(ours.workspace_id, config);
    const artifact = await (await env.ARTIFACTS.get(await putArtifact()))?.text();
    await env.ARTIFACTS.put(`artifacts/${revision_id}.json`, artifact ?? "");
    const headers = { Authorization: "Bearer anna" };
    const sent = { key: ours.admin, headers, json: {} };
    const { status, text } = await answerOf(`/agents/${deployment_id}/threads`, sent);
    expect([status, text]).toEqual([503, expect.stringContaining("create a new revision")]);
  },
);

describe("settings beside an app", () => {
  test("mount_prefix: all of it is below the prefix too", async () => {
    const { call } = await agent({ mount_prefix: "/my/agent" });
    expect((await call("/my/agent/info")).headers.get("x-js-middleware")).toBe("true");
    expect((await call("/my/agent/custom/who")).json).toMatchObject({ path: "/custom/who" });
    const json = { assistant_id: "echo", input };
    expect((await call("/my/agent/runs/wait", { json })).text).toContain("echo: hello");
    expect((await call("/my/agents/info")).status).toBe(404);
    const plain = await agent({ app: null, mount_prefix: "/p" });
    expect((await plain.call("/p/threads", { json: {} })).status).toBe(200);
    expect((await answerOf(`${plain.base}/p/threads`, { json: {} })).status).toBe(401);
  });

  test("a disabled route of the server can be answered by the app", async () => {
    const { call } = await agent({ disable_store: true, disable_meta: true });
    expect((await call("/info")).status).toBe(404);
    expect((await call("/info?interrupt")).json).toEqual({ status: "interrupted" });
    expect((await call("/store/namespaces", { json: {} })).status).toBe(404);
  });
});
