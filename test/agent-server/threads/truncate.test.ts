import { env } from "cloudflare:workers";
import { beforeAll, expect, test } from "vitest";
import worker from "../../../src/index.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

let ours: TestWorkspace;
let agent: string;
beforeAll(async () => {
  ours = await workspace();
  agent = `/agents/${(await testDeployment(ours.workspace_id)).deployment_id}`;
});

const post = (path: string, json: unknown, key = ours.editor) =>
  api(`${agent}${path}`, { key, json });
const read = async (response: Promise<Response>) => (await response).json();

async function fill() {
  await (await post("/runs/wait", { assistant_id: "echo", input: { messages: [] } })).text();
  for (let n = 0; n < 3; n++) await post("/threads", { metadata: { n } });
  await post("/assistants", { graph_id: "echo", name: "mine" });
  const item = { namespace: ["a"], key: "k", value: { n: 1 } };
  await api(`${agent}/store/items`, { key: ours.editor, method: "PUT", json: item });
}

test("empties what it names of the deployment, and nothing else", async () => {
  await fill();
  const own = await read(post("/assistants/count", {}));
  expect(await read(post("/internal/truncate", { threads: true, runs: true }))).toEqual({
    ok: true,
  });
  expect(await read(post("/threads/search", {}))).toEqual([]);
  expect(await read(post("/assistants/count", {}))).toBe(own);
  expect(await read(post("/store/namespaces", {}))).toEqual({ namespaces: [["a"]] });

  expect((await post("/internal/truncate", { assistants: true, store: true })).status).toBe(200);
  expect(await read(post("/assistants/count", {}))).toBe(Number(own) - 1);
  expect(await read(post("/store/namespaces", {}))).toEqual({ namespaces: [] });
  expect((await post("/runs/wait", { assistant_id: "echo", input: { messages: [] } })).status).toBe(
    200,
  );
});

test("needs the write permission, and names what it cannot do", async () => {
  expect((await post("/internal/truncate", { threads: true }, ours.viewer)).status).toBe(403);
  const stranger = await workspace();
  expect((await post("/internal/truncate", { threads: true }, stranger.editor)).status).toBe(404);
  const alone = await post("/internal/truncate", { runs: true });
  expect([alone.status, await alone.text()]).toEqual([422, expect.stringContaining("threads")]);
  expect((await post("/internal/truncate", { threads: "yes" })).status).toBe(422);
});

test("is not there where it is switched off", async () => {
  await post("/threads", {});
  const request = new Request(`https://heddle.test${agent}/internal/truncate`, {
    method: "POST",
    headers: { "X-Api-Key": ours.editor, "Content-Type": "application/json" },
    body: JSON.stringify({ threads: true }),
  });
  const context = { waitUntil() {}, passThroughOnException() {} } as unknown as ExecutionContext;
  const response = await worker.fetch(
    request as never,
    { ...env, TRUNCATE_ALLOWED: "false" },
    context,
  );
  expect(response.status).toBe(404);
  expect(await read(post("/threads/count", {}))).toBe(1);
});
