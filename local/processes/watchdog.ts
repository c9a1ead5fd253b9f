// Enforces limits that local workerd lacks: kills and restarts a Worker that loops forever, does not answer, or takes
// the machine's memory.
import { judge, SILENT_MS, startAt, withoutPause } from "./patience.ts";
import { findWorker, isAlive, isStopped, kill, type Process, readIoCalls } from "./processes.ts";

type Watched = {
  port: number;
  /** Process id of an ancestor of the Worker. */
  pid(): number;
  restart(): Promise<void>;
  print(line: string): void;
};

const LOOK_MS = 1000;
const PING_MS = 10_000;

export function watch(watched: Watched): { stop(): Promise<void> } {
  let looked_ms = performance.now();
  let waiting = startAt(looked_ms);
  let answered = false;
  let isCalling = false;
  let isClosed = false;
  let turn: Promise<void> | null = null;
  let worker: Process | undefined;

  const callWorker = async () => {
    if (isCalling) return;
    isCalling = true;
    answered = (await ping(watched.port, SILENT_MS)) || answered;
    isCalling = false;
  };
  const look = async () => {
    worker = await findWorker(watched.pid(), worker);
    const seen = { worker: await measured(worker), answered, host_lives: isAlive(watched.pid()) };
    if (isClosed) return;
    answered = false;
    const now_ms = performance.now();
    waiting = withoutPause(waiting, looked_ms, now_ms);
    looked_ms = now_ms;
    const [next, verdict] = judge(waiting, { ...seen, now_ms });
    waiting = next;
    if (verdict.is === "fine") return;
    if (verdict.is === "kill") {
      watched.print(`The Worker ${verdict.why}. It was killed and starts again.`);
      return kill(verdict.pid, "SIGKILL");
    }
    watched.print(`The Worker ${verdict.why}. It is started again.`);
    await watched.restart();
    waiting = { ...waiting, since_ms: performance.now() };
  };
  const timer = setInterval(() => {
    void callWorker();
    turn ??= look()
      // A start that fails, as on a full disk, is tried again.
      .catch((error: unknown) => watched.print(`The watchdog failed and tries again: ${error}`))
      .finally(() => {
        turn = null;
      });
  }, LOOK_MS);
  timer.unref();
  return {
    async stop() {
      isClosed = true;
      clearInterval(timer);
      await turn;
    },
  };
}

async function measured(worker: Process | undefined) {
  if (!worker) return undefined;
  const [io_calls, is_stopped] = await Promise.all([
    readIoCalls(worker.pid),
    isStopped(worker.pid),
  ]);
  return { ...worker, io_calls, is_stopped };
}

/**
 * Whether the Worker answers in time. The default time is long: on a busy machine a healthy Worker may need seconds.
 */
export async function ping(port: number, timeout_ms = PING_MS): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/ok`, {
      signal: AbortSignal.timeout(timeout_ms),
    });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
