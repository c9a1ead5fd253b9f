import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { request } from "./support/http.ts";
import { stack, until } from "./support/stack.ts";

const run = promisify(execFile);
const s3 = inject("s3");

/** Agents fetch from it in the first test. In the others it is a server that is not Heddle: every answer is a 200. */
let server: Server;
beforeAll(async () => {
  server = createServer((_, response) => response.end("{}"));
  await once(server.listen(stack.agent_port, "127.0.0.1"), "listening");
});
afterAll(() => server.close());

/** The checks take 90 s on a quiet machine. */
const wait = { timeout: 900_000 };

const fetchUrl = () => `http://127.0.0.1:${stack.agent_port}/`;

async function checkPlatform(...options: string[]) {
  const env = {
    ...process.env,
    AWS_ACCESS_KEY_ID: s3.access_key_id,
    AWS_SECRET_ACCESS_KEY: s3.secret_access_key,
  };
  const args = ["scripts/check-platform.ts", ...options];
  const result = await run(process.execPath, args, { env }).catch((error) => error);
  const { code = 0, stdout, stderr } = result as { code?: number; stdout: string; stderr: string };
  const verdicts = [...stdout.matchAll(/^(ok|skipped|failed) +(.+?) {2,}(.*)$/gm)];
  return { code, stdout, stderr, verdicts: verdicts.map(([, verdict, name]) => [name, verdict]) };
}

/** Checks that only a region passes, or that take minutes. */
const LEFT_OUT = [
  ...["jurisdiction", "location", "largest state", "agent's cron", "idle thread"],
  ...["processor time", "memory", "endless loop", "run of an hour"],
];

test("each check passes on a local stack, and nothing stays behind", wait, async () => {
  const options = ["--url", stack.base_url, "--key", stack.api_key, "--seconds", "3"];
  const bucket = ["--bucket", s3.bucket, "--endpoint", s3.endpoint, "--bucket-region", s3.region];
  const domain = ["--agents-domain", `localhost:${new URL(stack.base_url).port}`];
  const tcp = ["--tcp-address", `127.0.0.1:${stack.agent_port}`];
  const { code, stdout, verdicts } = await checkPlatform(
    ...[...options, ...bucket, ...domain, ...tcp, "--fetch-url", fetchUrl()],
    ...["--operator-token", stack.operator_token],
  );
  const other = verdicts.filter(([, verdict]) => verdict !== "ok");
  expect(other, stdout).toEqual(LEFT_OUT.map((name) => [name, "skipped"]));
  expect(verdicts.length).toBeGreaterThan(55);
  expect(code).toBe(0);
  const path = "/v2/deployments?name_contains=platform-check";
  const left = await request<{ resources: { status: string }[] }>("GET", path);
  expect(left.body.resources.filter(({ status }) => status !== "AWAITING_DELETE")).toEqual([]);
  const projects = "/api/v1/sessions?name_contains=platform-check";
  await until(
    "The deletion of the projects",
    () => request<unknown[]>("GET", projects),
    ({ body }) => body.length === 0,
  );
});

test("the checks fail on a server that is not Heddle", async () => {
  const { code, verdicts } = await checkPlatform(
    ...["--url", fetchUrl(), "--key", "key", "--bodies", "1", "--megabytes", "1"],
  );
  expect(code).toBe(1);
  const failed = verdicts.filter(([, verdict]) => verdict === "failed").map(([name]) => name);
  expect(failed).toEqual([
    ...["build", "cron", "health", "authentication", "console", "large upload", "large bodies"],
    "packages",
    "agent's app",
  ]);
});

test("a check is selected by its name, and an unknown name is refused", async () => {
  const options = ["--url", fetchUrl(), "--key", "key"];
  const { verdicts } = await checkPlatform(...options, "--only", "large headers");
  expect(verdicts).toEqual([
    // Most checks need the agent, so it is always built.
    ["build", "failed"],
    ["large headers", "ok"],
  ]);
  const { code, stderr } = await checkPlatform(...options, "--only", "larger headers");
  expect(code).toBe(1);
  expect(stderr).toContain('no check has the name "larger headers". The checks: build, cron,');
});
