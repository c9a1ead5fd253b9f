// One stack serves all e2e files: ports of its own, a folder that goes with it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { type Stack, type StackInfo, startStack } from "../../../scripts/local/stack.ts";

declare module "vitest" {
  interface ProvidedContext {
    stack: StackInfo & { dir: string };
  }
}

let stack: Stack;
let dir: string;

export async function setup(project: TestProject) {
  dir = await mkdtemp(join(tmpdir(), "heddle-e2e-"));
  stack = await startStack({ dir, quiet: true });
  project.provide("stack", { ...stack.info, dir });
}

export async function teardown() {
  await stack.stop();
  await rm(dir, { recursive: true, force: true });
}
