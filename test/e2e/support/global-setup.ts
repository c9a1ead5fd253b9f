// One stack serves all e2e files: ports of its own, a folder that goes with it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { type Stack, type StackInfo, startStack } from "../../../scripts/local/stack.ts";
import { type KeyDesk, startKeyDesk } from "../../support/node/key-desk.ts";
import { type StartedReceiver, startReceiver } from "../../support/node/receiver.ts";
import { type StartedS3, startLocalS3 } from "../../support/node/s3-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    stack: StackInfo & { dir: string };
  }
}

let stack: Stack;
let s3: StartedS3;
let receiver: StartedReceiver;
let desk: KeyDesk | undefined;
let dir: string;

export async function setup(project: TestProject) {
  await setupWith(project, startLocalS3);
}

/** The same stack, and files that write to whichever S3 server was started. */
export async function setupWith(project: TestProject, startS3: () => Promise<StartedS3>) {
  s3 = await startS3();
  dir = await mkdtemp(join(tmpdir(), "heddle-e2e-"));
  stack = await startStack({ dir, quiet: true });
  receiver = await startReceiver();
  project.provide("receiver_url", receiver.url);
  project.provide("stack", { ...stack.info, dir });
  desk = s3.keys && (await startKeyDesk(s3.keys));
  project.provide("s3", { ...s3.info, key_desk: desk?.url ?? null });
}

export async function teardown() {
  await stack?.stop();
  await desk?.close();
  await s3?.stop();
  await receiver?.stop();
  if (dir !== undefined) await rm(dir, { recursive: true, force: true });
}
