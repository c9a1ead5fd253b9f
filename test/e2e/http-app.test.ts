import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { lines } from "./support/clients.ts";
import { build, deploy, uniqueName } from "./support/deployments.ts";
import { pushRepository } from "./support/repositories.ts";
import { stack } from "./support/stack.ts";
import { agentSources } from "./support/test-agent.ts";

type Lock = { packages: Record<string, { dependencies?: Record<string, string> }> };

const read = async (path: string) => JSON.parse(await readFile(path, "utf8"));

/** The chat example's packages, and the Hono that Heddle itself has. */
async function filesOf(source: string, http: Record<string, unknown> = {}) {
  const own: Lock = await read("package-lock.json");
  const manifest = await read("examples/chat/package.json");
  const lock: Lock = await read("examples/chat/package-lock.json");
  const { version, integrity } = own.packages["node_modules/hono"] as Record<string, string>;
  const dependencies = { ...manifest.dependencies, hono: version };
  lock.packages[""] = { ...lock.packages[""], dependencies };
  Object.assign(lock.packages, { "node_modules/hono": { version, integrity } });
  const names = ["echo", "config", "calls", "tokens"];
  const graphs = Object.fromEntries(names.map((name) => [name, `./src/graphs.ts:${name}`]));
  return {
    "langgraph.json": JSON.stringify({ graphs, http: { app: "./src/app.ts:app", ...http } }),
    "package.json": JSON.stringify({ ...manifest, dependencies }),
    "package-lock.json": JSON.stringify(lock),
    ...(await agentSources()),
    "src/app.ts": source,
  };
}

let deployment_id: string;
let agent_url: string;
beforeAll(async () => {
  const source = await readFile("test/fixtures/agents/app.ts", "utf8");
  ({ id: deployment_id, agent_url } = await deploy("app-agent", await filesOf(source)));
});

const get = (path: string) =>
  fetch(agent_url + path, { headers: { "X-Api-Key": stack.api_key, "x-into-body": "here" } });

const input = { messages: [{ role: "human", content: "hello" }] };

describe.each(lines)("the SDK %s through the agent's own app", (_, sdk) => {
  test("runs, streams and reads as without one", async () => {
    const { threads, runs, assistants } = sdk(deployment_id);
    const { thread_id } = await threads.create({ metadata: { n: 1 } });
    const events: string[] = [];
    const created: string[] = [];
    const stream = runs.stream(thread_id, "echo", {
      input,
      streamMode: ["values", "messages-tuple"],
      onRunCreated: ({ run_id }) => void created.push(run_id),
    });
    for await (const { event } of stream) events.push(event);
    expect(events).toContain("metadata");
    expect(events.at(-1)).toBe("values");
    expect(created).toHaveLength(1);
    expect((await threads.getState(thread_id)).values).toMatchObject({
      messages: [{ content: "hello" }, { content: "echo: hello" }],
    });
    const joined: string[] = [];
    for await (const { event } of runs.joinStream(thread_id, created[0] ?? "")) joined.push(event);
    expect(joined).toEqual(events);
    expect(await assistants.search({ graphId: "echo" })).toHaveLength(1);
    await expect(threads.get(crypto.randomUUID())).rejects.toThrow("HTTP 404: Thread with ID");
    await threads.delete(thread_id);
  });

  test("a graph calls another graph of its deployment", async () => {
    const values = await sdk(deployment_id).runs.wait(null, "calls", { input });
    expect(values).toMatchObject({ messages: [{}, { content: "echo: hello" }] });
  });
});

test("routes and middleware of the app", async () => {
  const info = await get("/info");
  expect([info.status, info.headers.get("x-js-middleware")]).toEqual([200, "true"]);
  expect(await (await get("/info?interrupt")).json()).toEqual({ status: "interrupted" });
  expect(await (await get("/runs/afakeroute")).json()).toEqual({ foo: "afakeroute" });
  expect((await get("/custom/error")).status).toBe(400);
  expect((await get("/custom/none")).status).toBe(404);
  expect(await (await get("/custom/client")).json()).toMatchObject({
    messages: [{}, { content: "echo: from within" }],
  });
  const run = await fetch(`${agent_url}/runs/wait`, {
    method: "POST",
    headers: {
      "X-Api-Key": stack.api_key,
      "Content-Type": "application/json",
      "x-into-body": "here",
    },
    body: JSON.stringify({ assistant_id: "config", input: {} }),
  });
  expect(await run.json()).toMatchObject({ seen: { from_middleware: "here" } });
});

test("text that the app streams comes piece by piece, also to who would take it compressed", async () => {
  const name = crypto.randomUUID();
  const response = await get(`/custom/until-released/${name}`);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toBe("waits\n");
  await fetch(`${agent_url}/custom/release/${name}`, {
    method: "POST",
    headers: { "X-Api-Key": stack.api_key },
  });
  expect((await reader?.read())?.value).toBe("goes on\n");
});

test("what the app throws is in the agent's log, and nowhere else", async () => {
  const crashed = await get("/custom/crash");
  expect([crashed.status, await crashed.text()]).toEqual([500, "Internal Server Error"]);
  const path = `/v1/projects/${deployment_id}/deploy_logs`;
  await expect
    .poll(
      async () => {
        const headers = { "X-Api-Key": stack.api_key, "Content-Type": "application/json" };
        const sent = { method: "POST", headers, body: '{"order":"asc"}' };
        return (await fetch(stack.base_url + path, sent)).text();
      },
      { interval: 200 },
    )
    .toContain("hunter2");
});

test("a hostile app reaches no other deployment and no route of the control plane", async () => {
  const source = await readFile("test/fixtures/agents/app.ts", "utf8");
  const http = { enable_custom_route_auth: false, mount_prefix: "/below" };
  const { id } = await deploy("hostile-app", await filesOf(source, http));
  const marker = randomUUID();
  const [sdk] = lines;
  await sdk?.[1](deployment_id).threads.create({ metadata: { marker } });
  const theirs = `/agents/${deployment_id}/threads/search`;
  const paths = [theirs, `/%61gents${theirs.slice(7)}`, `/api-host${theirs}`, `/../..${theirs}`];
  const calls = [...paths, "/v2/deployments", "/api-host/v2/deployments"].flatMap((path) =>
    ["client", "builtin"].map((by) => {
      const isSearch = path.endsWith("search");
      const sent = isSearch ? { method: "POST", body: {} } : { method: "GET" };
      return { by, url: `https://server${path}`, ...sent };
    }),
  );
  const own = { by: "client", url: "https://server/threads", method: "POST", body: {} };
  const bases = [
    "/agents/",
    "/%61gents/",
    "/a%67ents/",
    "/api-host/agents/",
    "/api-host/%61gents/",
  ];
  for (const base of bases.flatMap((at) => [`${at}${id}`, `${at}${id}/below`])) {
    for (const key of [null, stack.api_key]) {
      const response = await fetch(`${stack.base_url}${base}/custom/reach`, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...(key !== null && { "X-Api-Key": key }) },
        body: JSON.stringify([own, ...calls]),
      });
      const answers = (await response.json()) as { status: number; text: string }[];
      const [first, ...others] = answers.map(({ status }) => status);
      expect([base, first]).toEqual([base, 200]);
      expect([...new Set(others)].sort(), base).toEqual(key === null ? [401, 404] : [404]);
      expect(JSON.stringify(answers)).not.toContain(marker);
    }
  }
});

test("a build without a valid app fails with its reason", async () => {
  const url = await pushRepository(uniqueName("no-app"), await filesOf("export const app = {};"));
  const { revision } = await build("no-app", url);
  expect(revision).toMatchObject({
    status: "BUILD_FAILED",
    status_reason: "graph_load_failed",
    status_message: 'http.app: its module has no Hono app as "app" (it exports: app).',
  });
});
