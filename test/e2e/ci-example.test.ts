// examples/ci/deploy.mjs, as the workflow beside it runs it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { client } from "./support/clients.ts";
import { type Deployment, type Revision, uniqueName } from "./support/deployments.ts";
import { request } from "./support/http.ts";
import { pushRepository } from "./support/repositories.ts";
import { stack } from "./support/stack.ts";

const SCRIPT = "examples/ci/deploy.mjs";

type Given = Record<string, string>;
type Job = { code: number; stdout: string; error: string; outputs: Given; summary: string };

/** Runs a job like GitHub: its variables and the steps of the workflow. */
async function job(mode: "deploy" | "preview", given: Given): Promise<Job> {
  const folder = await mkdtemp(join(tmpdir(), "heddle-ci-"));
  const [output, summary] = [join(folder, "output"), join(folder, "summary")];
  try {
    await Promise.all([writeFile(output, ""), writeFile(summary, "")]);
    const ended = await run(mode, {
      PATH: process.env.PATH ?? "",
      GITHUB_ACTIONS: "true",
      GITHUB_OUTPUT: output,
      GITHUB_STEP_SUMMARY: summary,
      GITHUB_REF_NAME: mode === "preview" ? "7/merge" : "main",
      HEDDLE_URL: stack.base_url,
      HEDDLE_API_KEY: stack.api_key,
      HEDDLE_POLL_SECONDS: "0.2",
      ...given,
    });
    const lines = (await readFile(output, "utf8")).trim().split("\n");
    const outputs = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
    expect(ended.stderr).toBe("");
    const [, error = ""] = /^::error::(.+)$/m.exec(ended.stdout) ?? [];
    return { ...ended, error, outputs, summary: await readFile(summary, "utf8") };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function run(mode: string, env: Given) {
  const child = spawn(process.execPath, [SCRIPT, mode], { env, stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, [code]] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, "close"),
  ]);
  return { code: Number(code), stdout, stderr };
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}

/** GitHub's two variables for a repository of the stack's git host. */
const isIn = (repository: string) => ({
  GITHUB_SERVER_URL: stack.git.url,
  GITHUB_REPOSITORY: `tests/${repository}`,
});

const files = (version: string) => ({
  "langgraph.json": JSON.stringify({ graphs: { agent: "./agent.js:agent" } }),
  "agent.js": `export async function agent() { return { text: "${version} " + process.env.TONE }; }`,
});

const answerOf = async (ref: string) => client(ref).runs.wait(null, "agent", { input: {} });

async function list(name: string) {
  const { body } = await request<{ resources: Deployment[] }>(
    "GET",
    `/v2/deployments?name_contains=${name}`,
  );
  return body.resources;
}

test("the first push deploys, the next one patches, a pull request gets a preview", async () => {
  const [name, repository] = [uniqueName("ci"), uniqueName("ci")];
  const given = { HEDDLE_DEPLOYMENT: name, ...isIn(repository) };
  // Names are looked for by their parts.
  const longer = { ...given, HEDDLE_DEPLOYMENT: `${name}-longer`, TONE: "", HEDDLE_REF: "main" };
  await pushRepository(repository, files("one"));
  expect((await job("deploy", longer)).code).toBe(0);

  const tone = { HEDDLE_SECRETS: "TONE", TONE: "kindly" };
  const first = await job("deploy", { ...given, ...tone });
  expect([first.code, first.error]).toEqual([0, ""]);
  const { deployment_id: id = "", revision_id: one } = first.outputs;
  expect(first.outputs.url).toBe(`${stack.base_url}/agents/${id}`);
  expect(first.stdout).toMatch(/ DEPLOYED\nDeployed: /);
  expect(await answerOf(id)).toEqual({ text: "one kindly" });

  await pushRepository(repository, files("two"));
  const second = await job("deploy", { ...given, HEDDLE_URL: `${stack.base_url}/api-host/` });
  expect([second.code, second.error]).toEqual([0, ""]);
  expect(second.outputs.deployment_id).toBe(id);
  expect(second.outputs.revision_id).not.toBe(one);
  expect(await answerOf(id)).toEqual({ text: "two kindly" });
  expect(await list(name)).toHaveLength(2);

  const branch = "try/three";
  await pushRepository(repository, files("three"), branch);
  const third = await job("preview", { ...given, GITHUB_HEAD_REF: branch });
  expect([third.code, third.error]).toEqual([0, ""]);
  const { revision_id: three, url } = third.outputs;
  expect(url).toBe(`${stack.base_url}/agents/${id}/revisions/${three}`);
  expect(third.summary).toContain(url);
  expect(await answerOf(`${id}/revisions/${three}`)).toEqual({ text: "three kindly" });
  expect(await answerOf(id)).toEqual({ text: "two kindly" });
  const { body } = await request<Deployment>("GET", `/v2/deployments/${id}`);
  expect(body.active_revision_id).toBe(second.outputs.revision_id);
});

test("a build that fails ends the job with 1 and its log, in which no line is a command", async () => {
  const repository = uniqueName("broken");
  await pushRepository(repository, {
    "langgraph.json": JSON.stringify({ graphs: { agent: "./src/agent\n::warning::x.js:agent" } }),
    "agent.js": "export const agent = 1;",
  });
  const given = { HEDDLE_DEPLOYMENT: uniqueName("broken"), ...isIn(repository) };
  const { code, stdout, error, outputs } = await job("deploy", given);
  expect(code).toBe(1);
  expect(error).toMatch(/^Revision \S+ is BUILD_FAILED: .*graph "agent" .*%0A/);
  expect(outputs).not.toHaveProperty("url");
  const [, token = ""] = /^::stop-commands::(\S+)$/m.exec(stdout) ?? [];
  const log = stdout.slice(stdout.indexOf(token), stdout.indexOf(`::${token}::`));
  expect(log).toMatch(/^\S+Z INFO /m);
  expect(log).toMatch(/^\S+Z ERROR .*graph "agent"/m);
  expect(stdout.replace(log, "")).not.toMatch(/^::warning::/m);
});

test("a build that takes too long, and one that is interrupted, end it too", async () => {
  const silent = createServer(() => {});
  const repo_url = `${await listen(silent)}/acme/agent`;
  const name = uniqueName("slow");
  const given = { HEDDLE_DEPLOYMENT: name, HEDDLE_REPO_URL: repo_url };
  try {
    const late = await job("deploy", { ...given, HEDDLE_GIVE_UP_SECONDS: "3" });
    expect(late.code).toBe(1);
    expect(late.error).toMatch(/^Revision \S+ is (AWAITING_BUILD|BUILDING) after 3 s; given up$/);
    expect(late.stdout).toContain("::group::Build log of");

    const [slow] = await list(name);
    const revision = `/v2/deployments/${slow?.id}/revisions/${slow?.latest_revision_id}`;
    const again = job("deploy", given);
    await expect
      .poll(async () => (await list(name))[0]?.latest_revision_id)
      .not.toBe(slow?.latest_revision_id);
    const [waiting] = await list(name);
    const path = `/v2/deployments/${slow?.id}/revisions/${waiting?.latest_revision_id}`;
    const ended = await request<Revision>("POST", `${path}/interrupt`);
    expect([ended.status, ended.body.status]).toEqual([200, "BUILD_FAILED"]);
    const { code, error } = await again;
    expect([code, error]).toEqual([
      1,
      expect.stringMatching(/BUILD_FAILED: The build was interrupted/),
    ]);
    expect((await request("POST", `${revision}/interrupt`)).status).toBe(200);
  } finally {
    silent.closeAllConnections();
    silent.close();
  }
});

test("what is refused ends it at once, with what to do", async () => {
  const repository = uniqueName("refused");
  await pushRepository(repository, files("one"));
  const given = { HEDDLE_DEPLOYMENT: uniqueName("refused"), ...isIn(repository) };
  const wrong = await job("deploy", { ...given, HEDDLE_API_KEY: "lsv2_sk_wrong" });
  expect(wrong.code).toBe(1);
  expect(wrong.error).toContain("Heddle answers 401: ");
  expect(wrong.error).toContain("HEDDLE_API_KEY");
  const early = await job("preview", { ...given, GITHUB_HEAD_REF: "main" });
  expect([early.code, early.error]).toEqual([1, expect.stringMatching(/deploy the main branch/)]);
  const unset = await job("deploy", { ...given, HEDDLE_SECRETS: "MISSING_ONE" });
  expect([unset.code, unset.error]).toEqual([1, expect.stringMatching(/^MISSING_ONE is not set/)]);
  const odd = await job("deploy", { ...given, HEDDLE_DEPLOYMENT: "Not A Name" });
  expect([odd.code, odd.error]).toEqual([
    1,
    expect.stringMatching(/422: .*must contain only letters, digits/),
  ]);
});

let stumbling: Server;
let calls: string[];

beforeAll(async () => {
  calls = [];
  stumbling = createServer((incoming, response) => {
    stumble(incoming, response).catch(() => response.destroy());
  });
  await listen(stumbling);
});
afterAll(() => new Promise((done) => stumbling.close(done)));

/** The stack behind a proxy that loses the answer of each second question. */
async function stumble(incoming: IncomingMessage, response: ServerResponse) {
  const { method = "GET", url = "/" } = incoming;
  calls.push(`${method} ${url}`);
  const body = await textOf(incoming);
  const answer = await fetch(stack.base_url + url, {
    method,
    headers: { "x-api-key": stack.api_key, "content-type": "application/json" },
    ...(body === "" ? {} : { body }),
  });
  const text = await answer.text();
  if (calls.length % 4 === 2) response.destroy();
  else if (calls.length % 4 === 0) response.writeHead(503).end("busy");
  else response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("a server that stumbles is retried, and nothing is deployed twice", async () => {
  const [name, repository] = [uniqueName("stumble"), uniqueName("stumble")];
  await pushRepository(repository, files("one"));
  const HEDDLE_URL = `http://127.0.0.1:${(stumbling.address() as AddressInfo).port}`;
  const given = { HEDDLE_DEPLOYMENT: name, ...isIn(repository), HEDDLE_URL };
  const { code, error, outputs } = await job("deploy", given);
  expect([code, error]).toEqual([0, ""]);
  // The answer to the POST was lost: what it made is found, and patched.
  expect(calls[1]).toBe("POST /v2/deployments");
  expect(await list(name)).toMatchObject([{ id: outputs.deployment_id }]);
  expect(outputs.url).toContain(outputs.deployment_id);
});

test("the workflow sets what the script reads, and leaves it time to give up", async () => {
  const [workflow, script, readme] = await Promise.all([
    readFile("examples/ci/heddle.yml", "utf8"),
    readFile(SCRIPT, "utf8"),
    readFile("examples/ci/README.md", "utf8"),
  ]);
  const set = workflow.match(/HEDDLE_\w+(?=: )/g) ?? [];
  for (const name of [...set, ...(script.match(/HEDDLE_[A-Z_]+/g) ?? [])]) {
    expect(script).toContain(name);
    expect(readme).toContain(`\`${name}\``);
  }
  expect(set).toContain("HEDDLE_API_KEY");
  expect(script).toMatch(/HEDDLE_POLL_SECONDS \?\? 60\b/);
  expect(script).toMatch(/HEDDLE_GIVE_UP_SECONDS \?\? 1800\b/);
  expect(Number(/timeout-minutes: (\d+)/.exec(workflow)?.[1])).toBeGreaterThan(30);
});
