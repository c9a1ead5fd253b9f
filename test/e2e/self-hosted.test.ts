// The service of examples/self-host/heddle.service behind a proxy, and what it survives.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { request as send } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort, isFree } from "../../local/processes/ports.ts";
import { listAgents } from "../../local/processes/processes.ts";
import { BASE_URL, HOST, type Service, startService } from "./support/service.ts";
import { until } from "./support/stack.ts";

const run = promisify(execFile);

let home: string;
let dir: string;
let port: number;
let service: Service;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "heddle-service-"));
  dir = join(home, "data");
  port = await freePort();
  service = await startService({ dir, port });
});

afterAll(async () => {
  await service.stop();
  await rm(home, { recursive: true, force: true });
});

/** Forwards a request like a proxy: to this port, with the client's Host. */
function behindProxy(path: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { host: HOST, "x-api-key": service.info.api_key };
    const request = send({ host: "127.0.0.1", port, path, headers }, async (response) => {
      let text = "";
      for await (const chunk of response) text += String(chunk);
      resolve({ status: response.statusCode ?? 0, text });
    });
    request.once("error", reject).end();
  });
}

test("the journal gets no key", () => {
  expect(service.printed.join("")).not.toContain(service.info.api_key);
});

test("the first workspace can export to the bucket of the machine", async () => {
  const path = "/api/v1/bulk-exports/destinations";
  const { body } = await service.call<{ id: string; display_name: string }[]>("GET", path);
  expect(body.map(({ display_name }) => display_name)).toEqual(["Bucket of this machine"]);
  const probe = await service.call("POST", `${path}/${body[0]?.id}/probe`, {});
  expect(probe.status).toBe(200);
  await service.call("DELETE", `${path}/${body[0]?.id}`);
  await service.stop();
  service = await startService({ dir, port });
  expect((await service.call("GET", path)).body).toEqual([]);
});

test("behind a proxy the control plane is under /api-host, and URLs are those of BASE_URL", async () => {
  const listed = await behindProxy("/api-host/v2/deployments");
  expect([listed.status, JSON.parse(listed.text).resources]).toEqual([200, []]);
  const { text } = await behindProxy("/api-host/openapi.json");
  expect(JSON.parse(text).servers).toEqual([{ url: BASE_URL }]);
  const created = await service.createDeployment("proxied");
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
  const first = await service.createDeployment("first");
  await service.deployed(first);
  const agent = `/agents/${first.id}`;
  const [ended, due] = [await service.createThread(agent), await service.createThread(agent)];
  await service.converse(agent, ended, "before the crash");
  await service.answerTo(agent, ended, "before the crash");
  await service.converse(agent, due, "due after it", { after_seconds: 2 });
  const second = await service.createDeployment("second");
  await service.kill();
  service = await startService({ dir, port });
  await service.answerTo(agent, ended, "before the crash");
  await service.answerTo(agent, due, "due after it");
  await service.deployed(second);
  await service.converse(agent, ended, "and again");
  await service.answerTo(agent, ended, "and again");
});

test("agents run in the main process where the operator wants it, and its runs survive SIGKILL", async () => {
  const agents = () => listAgents(service.child.pid ?? 0);
  expect(await agents()).not.toEqual([]);
  await service.stop();
  const settings = { HEDDLE_AGENTS_IN_MAIN: "true" };
  service = await startService({ dir, port, settings });
  const third = await service.createDeployment("third");
  await service.deployed(third);
  const agent = `/agents/${third.id}`;
  const [ended, due] = [await service.createThread(agent), await service.createThread(agent)];
  await service.converse(agent, ended, "in one process");
  await service.answerTo(agent, ended, "in one process");
  expect(await agents()).toEqual([]);
  await service.converse(agent, due, "due after it", { after_seconds: 2 });
  await service.kill();
  service = await startService({ dir, port, settings });
  await service.answerTo(agent, due, "due after it");
  await service.stop();
  service = await startService({ dir, port });
});

test("SIGTERM to npm ends everything that npm start runs", async () => {
  await service.stop();
  service = await startService({ dir, port, command: ["npm", "start"] });
  service.child.kill("SIGTERM");
  await service.exited;
  await until("The port to be free", () => isFree(port), Boolean);
});
