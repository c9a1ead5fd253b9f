// The service of examples/self-host/heddle.service on this machine: its ExecStart as written, in folders of the test's own.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { request as send } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort, isFree } from "../../scripts/local/ports.ts";
import type { StackInfo } from "../../scripts/local/stack.ts";
import { createBody, type Deployment, type Revision } from "./support/deployments.ts";
import { type Answer, request } from "./support/http.ts";
import { until } from "./support/stack.ts";

type Service = { child: ChildProcess; printed: string[]; exited: Promise<number | null> };
type Thread = { values: { messages: { content: string }[] } };

const HOST = "heddle.example.com";
const BASE_URL = `https://${HOST}`;
const run = promisify(execFile);

let home: string;
let dir: string;
let port: number;
let service: Service;
let info: StackInfo;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "heddle-service-"));
  dir = join(home, "data");
  port = await freePort();
  await start();
});

afterAll(async () => {
  await stop();
  await rm(home, { recursive: true, force: true });
});

/** Runs the unit like systemd, with another folder, port and git host. */
async function start(npm?: string[]): Promise<void> {
  const unit = await readFile("examples/self-host/heddle.service", "utf8");
  const all = (name: string) =>
    [...unit.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value = ""]) =>
      value.replaceAll("/opt/heddle", process.cwd()),
    );
  const [command = "", ...args] = npm ?? all("ExecStart").join(" ").split(" ");
  const child = spawn(command, args, {
    cwd: all("WorkingDirectory")[0],
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      ...Object.fromEntries(all("Environment").map((pair) => pair.split("=", 2))),
      PORT: String(port),
      HEDDLE_DIR: dir,
      HEDDLE_BASE_URL: BASE_URL,
      HEDDLE_EGRESS_PRIVATE_BUILDS: "true",
    },
  });
  const printed: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (text) => printed.push(String(text)));
  }
  const exited = new Promise<number | null>((done) => child.once("exit", done));
  service = { child, printed, exited };
  await until(
    "The service's start",
    async () => ({ output: printed.join(""), code: child.exitCode }),
    ({ output, code }) => output.includes("Heddle answers") || code !== null,
  );
  expect(printed.join("")).toContain("Heddle answers");
  info = JSON.parse(await readFile(join(dir, "local.json"), "utf8"));
}

async function stop(): Promise<void> {
  if (!service.child.kill("SIGTERM")) return;
  expect(await service.exited).toBe(0);
}

/** SIGKILL to the process that systemd started; nothing of it may be left when it starts again. */
async function kill(): Promise<void> {
  service.child.kill("SIGKILL");
  await service.exited;
  await until("The port to be free", () => isFree(port), Boolean);
}

function call<T>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
  const { base_url, api_key, tenant_id } = info;
  return request<T>(method, base_url + path, body, {
    "x-api-key": api_key,
    "x-tenant-id": tenant_id,
  });
}

/** Forwards a request like a proxy: to this port, with the client's Host. */
function behindProxy(path: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { host: HOST, "x-api-key": info.api_key };
    const request = send({ host: "127.0.0.1", port, path, headers }, async (response) => {
      let text = "";
      for await (const chunk of response) text += String(chunk);
      resolve({ status: response.statusCode ?? 0, text });
    });
    request.once("error", reject).end();
  });
}

async function createEcho(name: string): Promise<Deployment> {
  const repository = `${info.git.url}/examples/echo.git`;
  const body = createBody(name, repository, { secrets: [{ name: "KEY", value: "secret" }] });
  const created = await call<Deployment>("POST", "/api-host/v2/deployments", body);
  expect(created.status).toBe(201);
  return created.body;
}

async function deployed({ id, latest_revision_id }: Deployment): Promise<void> {
  const path = `/api-host/v2/deployments/${id}/revisions/${latest_revision_id}`;
  await until(
    "DEPLOYED",
    () => call<Revision>("GET", path),
    ({ body }) => body.status === "DEPLOYED",
  );
}

async function converse(
  agent: string,
  thread_id: string,
  content: string,
  more = {},
): Promise<void> {
  const input = { messages: [{ role: "user", content }] };
  const order = { assistant_id: "echo", input, ...more };
  const { status } = await call("POST", `${agent}/threads/${thread_id}/runs`, order);
  expect(status).toBe(200);
}

function messagesOf(agent: string, thread_id: string, words: string): Promise<unknown> {
  return until(
    `An answer to "${words}"`,
    () => call<Thread>("GET", `${agent}/threads/${thread_id}/state`),
    ({ body }) => JSON.stringify(body.values).includes(`You said: ${words}`),
  );
}

async function createThread(agent: string): Promise<string> {
  const { body } = await call<{ thread_id: string }>("POST", `${agent}/threads`, {});
  return body.thread_id;
}

test("the journal gets no key", () => {
  expect(service.printed.join("")).not.toContain(info.api_key);
});

test("behind a proxy the control plane is under /api-host, and URLs are those of BASE_URL", async () => {
  const listed = await behindProxy("/api-host/v2/deployments");
  expect([listed.status, JSON.parse(listed.text).resources]).toEqual([200, []]);
  const { text } = await behindProxy("/api-host/openapi.json");
  expect(JSON.parse(text).servers).toEqual([{ url: BASE_URL }]);
  const created = await createEcho("proxied");
  expect(JSON.stringify(created)).toContain(`${BASE_URL}/agents/${created.id}`);
});

test.each([
  "/cdn-cgi/local/scheduled",
  "/cdn-cgi/handler/scheduled",
  "/cdn-cgi/local/platform-proxy",
  "/cdn-cgi/local/explorer",
])("%s, a tool of the local runtime, is not found under the public name", async (path) => {
  expect((await behindProxy(path)).status).toBe(404);
});

test("a second service in the same folder is refused", async () => {
  const env = { ...process.env, PORT: "0", HEDDLE_DIR: dir };
  const second = run(process.execPath, ["scripts/start.ts"], { env });
  await expect(second).rejects.toMatchObject({
    stderr: expect.stringContaining(`Process ${service.child.pid} already runs a stack`),
  });
});

test("acknowledged data survives SIGKILL, and runs in flight continue", async () => {
  const first = await createEcho("first");
  await deployed(first);
  const agent = `/agents/${first.id}`;
  const [ended, due] = [await createThread(agent), await createThread(agent)];
  await converse(agent, ended, "before the crash");
  await messagesOf(agent, ended, "before the crash");
  await converse(agent, due, "due after it", { after_seconds: 2 });
  const second = await createEcho("second");
  await kill();
  await start();
  await messagesOf(agent, ended, "before the crash");
  await messagesOf(agent, due, "due after it");
  await deployed(second);
  await converse(agent, ended, "and again");
  await messagesOf(agent, ended, "and again");
});

test("a backup holds all of it, and opens in another folder", async () => {
  const created = await createEcho("kept");
  await deployed(created);
  const agent = `/agents/${created.id}`;
  const thread_id = await createThread(agent);
  await converse(agent, thread_id, "remember this");
  await messagesOf(agent, thread_id, "remember this");
  await stop();
  await run("tar", ["-C", home, "-czf", join(home, "backup.tar.gz"), "data"]);
  await rm(dir, { recursive: true });
  await mkdir(join(home, "elsewhere"));
  await run("tar", ["-C", join(home, "elsewhere"), "-xzf", join(home, "backup.tar.gz")]);
  dir = join(home, "elsewhere/data");
  await start();
  await messagesOf(agent, thread_id, "remember this");
  await converse(agent, thread_id, "and that");
  await messagesOf(agent, thread_id, "and that");
  const { body } = await call<Deployment>("GET", `/api-host/v2/deployments/${created.id}`);
  expect(body.secrets.map(({ name }) => name)).toEqual(["KEY"]);
});

test("SIGTERM to npm ends everything that npm start runs", async () => {
  await stop();
  await start(["npm", "start"]);
  service.child.kill("SIGTERM");
  await service.exited;
  await until("The port to be free", () => isFree(port), Boolean);
});
