// The Worker's process, found from the stack's folder: tests live in other processes than the stack.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findWorker, isAlive, kill, listBuilders } from "./processes.ts";

const FILE = "worker.json";

export function rememberWorker(path: string, pid: number): Promise<void> {
  return writeFile(join(path, FILE), JSON.stringify({ pid }));
}

/** SIGKILL to the process that runs the Worker, as a crash would. Once it is gone Miniflare starts it again. */
export async function killWorkerOf(path: string): Promise<void> {
  await killAndWait(await workerPidOf(path));
}

export async function workerPidOf(path: string): Promise<number> {
  const worker = await findWorker(await readPid(path));
  if (!worker) throw new Error(`No workerd process runs the Worker of ${path}`);
  return worker.pid;
}

/** Sends SIGKILL to the processes that run builds and returns how many there were. */
export async function killBuildersOf(path: string): Promise<number> {
  const builders = await listBuilders(await readPid(path));
  await Promise.all(builders.map((builder) => killAndWait(builder.pid)));
  return builders.length;
}

async function readPid(path: string): Promise<number> {
  const { pid } = JSON.parse(await readFile(join(path, FILE), "utf8")) as { pid: number };
  return pid;
}

async function killAndWait(pid: number): Promise<void> {
  kill(pid, "SIGKILL");
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}
