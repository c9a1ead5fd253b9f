// Finds the processes of a stack by its folder, also for backups and tests, which run outside of the stack's process.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findWorker, isAlive, kill, listAgents, listBuilders } from "./processes.ts";

const ROOT_FILE = "root.json";

/** Saves the id of the leash, below which all workerd processes of the stack run. */
export function rememberRoot(path: string, pid: number): Promise<void> {
  return writeFile(join(path, ROOT_FILE), JSON.stringify({ pid }));
}

/** Ends the process that runs the Worker with SIGKILL, like a crash. Miniflare starts it again. */
export async function killWorkerOf(path: string): Promise<void> {
  await killAndWait(await workerPidOf(path));
}

export async function workerPidOf(path: string): Promise<number> {
  const worker = await findWorker(await readRootPid(path));
  if (!worker) throw new Error(`No workerd process runs the Worker of ${path}`);
  return worker.pid;
}

/** Ends the processes that run builds with SIGKILL. Returns their number. */
export async function killBuildersOf(path: string): Promise<number> {
  const builders = await listBuilders(await readRootPid(path));
  await Promise.all(builders.map((builder) => killAndWait(builder.pid)));
  return builders.length;
}

/** Ends the processes that run agents with SIGKILL. */
export async function killAgentsOf(path: string): Promise<void> {
  const agents = await listAgents(await readRootPid(path));
  await Promise.all(agents.map(({ pid }) => killAndWait(pid)));
}

async function readRootPid(path: string): Promise<number> {
  const { pid } = JSON.parse(await readFile(join(path, ROOT_FILE), "utf8")) as { pid: number };
  return pid;
}

async function killAndWait(pid: number): Promise<void> {
  kill(pid, "SIGKILL");
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}
