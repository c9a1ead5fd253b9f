// Files run in lanes, one after another in each. Each lane has its own stack (ports and folder), so a file that
// kills the Worker disturbs no other.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { readNpm } from "../../../local/processes/npm.ts";
import { freePort } from "../../../local/processes/ports.ts";
import { type Stack, type StackInfo, startStack } from "../../../local/stack.ts";
import { pythonEnv } from "../../../scripts/python-env.ts";
import { browserProblem } from "../../support/node/browser.ts";
import {
  type Certificate,
  createCertificate,
  DATABASE_HOST,
  databaseProblem,
} from "../../support/node/databases.ts";
import { type KeyDesk, startKeyDesk } from "../../support/node/key-desk.ts";
import { type StartedReceiver, startReceiver } from "../../support/node/receiver.ts";
import { type StartedS3, startLocalS3 } from "../../support/node/s3-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    stacks: LaneStack[];
  }
}

/** Ports of loopback that agents of this lane reach; a test may listen on them. */
type LaneStack = StackInfo & {
  dir: string;
  agent_port: number;
  operator_token: string;
  /** `null` on a machine without the programs. */
  databases: Databases | null;
};

/** A certificate that agents trust, and ports of its host. */
export type Databases = {
  certificate: Certificate;
  postgres_port: number;
  mariadb_port: number;
  redis_port: number;
};

/** Ports on which only tests of a lane listen, and only at times. Stacks that other tests start choose from others. */
const LANE_PORTS = [16_000, 20_000] as const;
const OPERATOR_TOKEN = "operator-of-the-lane";

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
  const databases = databaseProblem();
  const problems = [
    ...(databases === null ? [] : [`tests of databases: ${databases}`]),
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
  const certificate = databaseProblem() === null ? await trustCertificate(dir) : null;
  for (let lane = 1; lane <= lanes; lane += 1) {
    infos.push(await startLane(join(dir, `${lane}`), certificate));
  }
  project.provide("stacks", infos);
  receiver = await startReceiver();
  project.provide("receiver_url", receiver.url);
  desk = s3.keys && (await startKeyDesk(s3.keys));
  project.provide("s3", { ...s3.info, key_desk: desk?.url ?? null });
}

/** Stacks trust the authorities of NODE_EXTRA_CA_CERTS. */
async function trustCertificate(dir: string): Promise<Certificate> {
  const certificate = await createCertificate(dir);
  const { ca_file } = await readNpm(join(dir, "npm.json"));
  const known = ca_file === undefined ? "" : await readFile(ca_file, "utf8");
  const file = join(dir, "authorities.pem");
  await writeFile(file, `${known}\n${await readFile(certificate.cert, "utf8")}`);
  process.env.NODE_EXTRA_CA_CERTS = file;
  return certificate;
}

async function startLane(dir: string, certificate: Certificate | null): Promise<LaneStack> {
  const agent_port = await freePort(0, LANE_PORTS);
  const postgres_port = await freePort(0, LANE_PORTS);
  const mariadb_port = await freePort(0, LANE_PORTS);
  const redis_port = await freePort(0, LANE_PORTS);
  const hosts = [postgres_port, mariadb_port, redis_port].map((port) => `${DATABASE_HOST}:${port}`);
  const variables = {
    AGENTS_DOMAIN: "localhost",
    OPERATOR_TOKEN,
    // Runs of any year stay.
    ...{ SHORTLIVED_DAYS: "0", LONGLIVED_DAYS: "0" },
    EGRESS_AGENT_HOSTS: [`127.0.0.1:${agent_port}`, `127.0.0.1:${redis_port}`, ...hosts].join(),
  };
  const stack = await startStack({ dir, quiet: true, variables });
  stacks.push(stack);
  const databases = certificate && { certificate, postgres_port, mariadb_port, redis_port };
  return { ...stack.info, dir, agent_port, operator_token: OPERATOR_TOKEN, databases };
}

export async function teardown() {
  await Promise.all(stacks.splice(0).map((stack) => stack.stop()));
  await desk?.close();
  await s3?.stop();
  await receiver?.stop();
  if (dir !== undefined) await rm(dir, { recursive: true, force: true });
}
