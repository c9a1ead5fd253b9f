// The Worker's process, found from the stack's folder: tests live in other processes than the stack.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findWorker, isAlive, kill } from "./processes.ts";

const FILE = "worker.json";

export function rememberWorker(path: string, pid: number): Promise<void> {
  return writeFile(join(path, FILE), JSON.stringify({ pid }));
}

/** SIGKILL to the process that runs the Worker, as a crash would. Once it is gone Miniflare starts it again. */
export async function killWorkerOf(path: string): Promise<void> {
  const { pid } = JSON.parse(await readFile(join(path, FILE), "utf8")) as { pid: number };
  const worker = await findWorker(pid);
  if (!worker) throw new Error(`No workerd process runs the Worker of ${path}`);
  kill(worker.pid, "SIGKILL");
  while (isAlive(worker.pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}
