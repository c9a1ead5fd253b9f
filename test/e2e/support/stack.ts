import { inject } from "vitest";
import {
  killAgentsOf,
  killBuildersOf,
  killWorkerOf,
  workerPidOf,
} from "../../../local/processes/kill.ts";

/** The stack of this file's lane, as `.heddle/local.json` would describe it. */
export const stack = stackOfLane();

/** For what never happens; what does happen may take long on a busy machine. */
const PATIENCE_MS = 240_000;

function stackOfLane() {
  const stacks = inject("stacks");
  const stack = stacks[Number(process.env.VITEST_POOL_ID) - 1];
  if (stack === undefined) throw new Error(`No stack for pool ${process.env.VITEST_POOL_ID}.`);
  return stack;
}

/** SIGKILL to the process that runs the Worker. Resolves when that is gone; the Worker comes back by itself. */
export function killWorker(): Promise<void> {
  return killWorkerOf(stack.dir);
}

/** Returns the id of the process that runs the Worker. */
export function workerPid(): Promise<number> {
  return workerPidOf(stack.dir);
}

/** Sends SIGKILL to the processes that run builds and returns how many there were. */
export function killBuilders(): Promise<number> {
  return killBuildersOf(stack.dir);
}

/**
 * Sends SIGKILL to the processes that run agents. The agents of a workspace share a process, which is replaced when it has
 * much memory: a test whose runs meet in variables of a module begins with a new one.
 */
export function killAgents(): Promise<void> {
  return killAgentsOf(stack.dir);
}

/** Reads until the answer is the wanted one; the last answer is in the error of one that never was. */
export async function until<T>(
  what: string,
  read: () => Promise<T>,
  isWanted: (answer: T) => boolean,
): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await read();
    if (isWanted(answer)) return answer;
    if (Date.now() > deadline) {
      throw new Error(`${what} did not happen in ${PATIENCE_MS} ms: ${JSON.stringify(answer)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
