// Files run in lanes, one after another in each. Each lane has its own stack (ports and folder), so a file that
// kills the Worker disturbs no other.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { freePort } from "../../../scripts/local/ports.ts";
import { type Stack, type StackInfo, startStack } from "../../../scripts/local/stack.ts";
import { pythonEnv } from "../../../scripts/python-env.ts";
import { browserProblem } from "../../support/node/browser.ts";
import { type KeyDesk, startKeyDesk } from "../../support/node/key-desk.ts";
import { type StartedReceiver, startReceiver } from "../../support/node/receiver.ts";
import { type StartedS3, startLocalS3 } from "../../support/node/s3-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    stacks: LaneStack[];
  }
}

/** `agent_port`: the one port of loopback that agents of this lane reach; a test may listen on it. */
type LaneStack = StackInfo & { dir: string; agent_port: number };

const stacks: Stack[] = [];
let s3: StartedS3;
let receiver: StartedReceiver;
let desk: KeyDesk | undefined;
let dir: string;

export async function setup(project: TestProject) {
  await checkMachine();
  await setupWith(project, startLocalS3);
}

/** Names the tests that this machine leaves out, before any runs. */
async function checkMachine() {
  const page = browserProblem();
  const python = (await pythonEnv()) === null;
  const problems = [
    ...(page === null ? [] : [`tests of pages: ${page}`]),
    ...(python ? ["tests of the Python SDKs: install Python 3.10 or later with venv"] : []),
  ];
  if (problems.length === 0) return;
  const text = `Left out on this machine:\n${problems.map((line) => `  ${line}\n`).join("")}`;
  if (process.env.CI) throw new Error(text);
  process.stderr.write(text);
}

/** The same stacks, and files that write to whichever S3 server was started. */
export async function setupWith(project: TestProject, startS3: () => Promise<StartedS3>) {
  s3 = await startS3();
  dir = await mkdtemp(join(tmpdir(), "heddle-e2e-"));
  const { maxWorkers: lanes } = project.config;
  const infos: LaneStack[] = [];
  for (let lane = 1; lane <= lanes; lane += 1) infos.push(await startLane(join(dir, `${lane}`)));
  project.provide("stacks", infos);
  receiver = await startReceiver();
  project.provide("receiver_url", receiver.url);
  desk = s3.keys && (await startKeyDesk(s3.keys));
  project.provide("s3", { ...s3.info, key_desk: desk?.url ?? null });
}

async function startLane(dir: string): Promise<LaneStack> {
  const agent_port = await freePort();
  const variables = {
    AGENTS_DOMAIN: "localhost",
    EGRESS_AGENT_HOSTS: `127.0.0.1:${agent_port}`,
  };
  const stack = await startStack({ dir, quiet: true, variables });
  stacks.push(stack);
  return { ...stack.info, dir, agent_port };
}

export async function teardown() {
  await Promise.all(stacks.splice(0).map((stack) => stack.stop()));
  await desk?.close();
  await s3?.stop();
  await receiver?.stop();
  if (dir !== undefined) await rm(dir, { recursive: true, force: true });
}
