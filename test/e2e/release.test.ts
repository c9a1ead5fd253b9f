// An upgrade as docs/guides/self-host.md describes it: the unit runs `current`, and releases are clones of this repository.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort, isFree } from "../../local/processes/ports.ts";
import { kill, readProcesses } from "../../local/processes/processes.ts";
import type { Unit } from "../support/node/restart-unit.ts";
import { pushRepository } from "./support/repositories.ts";
import { callService, readUnit } from "./support/service.ts";
import { until } from "./support/stack.ts";
import { testAgentFiles } from "./support/test-agent.ts";

const RESTART = join(process.cwd(), "test/support/node/restart-unit.ts");
const run = promisify(execFile);

let home: string;
let dir: string;
let port: number;
let unit: Unit;
let restart: string;
let service: Awaited<ReturnType<typeof callService>>;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "heddle-release-"));
  dir = join(home, "data");
  port = await freePort();
  const current = join(home, "opt/current");
  await mkdir(join(home, "opt"));
  await symlink(process.cwd(), current);
  const [pid_file, log] = [join(home, "service.pid"), join(home, "service.log")];
  unit = { ...(await readUnit({ dir, port, release: current })), pid_file, log };
  await writeFile(join(home, "unit.json"), JSON.stringify(unit));
  restart = `${process.execPath} ${RESTART} ${join(home, "unit.json")}`;
  const [command = "", ...args] = restart.split(" ");
  await run(command, args);
  await until("The service's start", () => ended("Heddle answers"), Boolean);
  service = await callService(dir);
});

afterAll(async () => {
  if (existsSync(unit.pid_file)) {
    kill(Number.parseInt(await readFile(unit.pid_file, "utf8"), 10), "SIGTERM");
    await until("The port to be free", () => isFree(port), Boolean);
  }
  await rm(home, { recursive: true, force: true });
});

async function ended(words: string): Promise<boolean> {
  return existsSync(unit.log) && (await readFile(unit.log, "utf8")).includes(words);
}

/** Also those that have lost their parent. */
async function trialProcesses(): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const commands = (await readProcesses(pids)).map(({ command }) => command);
  return commands.filter((command) => command.includes("/heddle-try-"));
}

async function release(...args: string[]): Promise<string> {
  const options = ["--root", join(home, "opt"), "--from", process.cwd(), "--restart", restart];
  const command = ["scripts/release.ts", ...options, ...args];
  const { stdout } = await run(process.execPath, command, { env: { ...process.env, ...unit.env } });
  return stdout;
}

test("an upgrade loses no run in flight, and a rollback none after it", async () => {
  const repository = await pushRepository("upgraded", await testAgentFiles());
  const deployment = await service.createDeployment("upgraded", repository);
  await service.deployed(deployment);
  const head = (await run("git", ["rev-parse", "HEAD"])).stdout.trim();
  expect(await release("install", head)).toContain("Installed");
  await until("The end of the trial's processes", trialProcesses, (found) => found.length === 0);

  const agent = `/agents/${deployment.id}`;
  const { base_url: origin, api_key: apiKey } = service.info;
  const options = { apiUrl: origin + agent, apiKey, callerOptions: { maxRetries: 0 } };
  const { threads, runs } = new Client(options);
  const { thread_id } = await threads.create();
  const order = { input: { delay_ms: 2_000 }, streamMode: "updates" as const };
  const { run_id } = await runs.create(thread_id, "steps", order);
  let lastEventId = "";
  for await (const { event, id } of runs.joinStream(thread_id, run_id)) {
    lastEventId = id ?? lastEventId;
    if (event === "updates") break;
  }
  expect(await release("switch", head)).toContain("is the current release");
  const path = join(home, "opt/releases", head.slice(0, 12));
  expect(await realpath(join(home, "opt/current"))).toBe(await realpath(path));

  const rest = [];
  for await (const event of runs.joinStream(thread_id, run_id, { lastEventId })) rest.push(event);
  const updates = rest.filter(({ event }) => event === "updates");
  expect(updates.map(({ data }) => data)).toEqual([{ b: { log: ["b"] } }, { c: { log: ["c"] } }]);
  const { values } = await threads.getState<{ log: string[] }>(thread_id);
  expect(values.log).toEqual(["a", "b", "c"]);
  expect(await runs.get(thread_id, run_id)).toMatchObject({ status: "success" });

  expect(await release("rollback")).toContain("is the current release");
  expect(await realpath(join(home, "opt/current"))).toBe(await realpath(process.cwd()));
  await runs.wait(thread_id, "steps", { input: { delay_ms: 1 } });
  const after = await threads.getState<{ log: string[] }>(thread_id);
  expect(after.values.log).toEqual(["a", "b", "c", "a", "b", "c"]);
});
