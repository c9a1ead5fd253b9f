// Stands in for the limits that local workerd does not enforce: a Worker that blocks the whole
// process (an agent that loops for ever) or eats the machine's memory is killed, and starts again.
import { findWorker, kill, type Process } from "./processes.ts";

export type Watched = {
  port: number;
  /** Whose descendant the Worker is. */
  pid(): number;
  restart(): Promise<void>;
  say(line: string): void;
};

const PING_MS = 1000;
/** Longer than the longest blocking step of a build, shorter than a person's patience. */
const MISSED_PINGS = 10;
const RSS_LIMIT_BYTES = 2 * 1024 ** 3;

type State = { missed: number; killed_pid: number; stopped: boolean };

export function watch(watched: Watched): { stop(): void } {
  const state: State = { missed: 0, killed_pid: 0, stopped: false };
  const loop = async () => {
    while (!state.stopped) {
      const started = Date.now();
      await beat(watched, state);
      const left = PING_MS - (Date.now() - started);
      if (left > 0) await new Promise((resolve) => setTimeout(resolve, left).unref());
    }
  };
  void loop();
  return {
    stop() {
      state.stopped = true;
    },
  };
}

async function beat(watched: Watched, state: State) {
  const [answers, worker] = await Promise.all([
    ping(watched.port),
    findWorker(watched.pid(), watched.port),
  ]);
  if (state.stopped) return;
  state.missed = answers ? 0 : state.missed + 1;
  const end = ({ pid }: Process, why: string) => {
    watched.say(`The Worker ${why}. It was killed and starts again.`);
    kill(pid, "SIGKILL");
    Object.assign(state, { missed: 0, killed_pid: pid });
  };
  if (worker && worker.rss_bytes > RSS_LIMIT_BYTES) {
    const megabytes = Math.round(worker.rss_bytes / 1024 ** 2);
    end(worker, `grew to ${megabytes} MB (deployed, an isolate may have 128 MB)`);
  } else if (state.missed >= MISSED_PINGS && worker && worker.pid !== state.killed_pid) {
    end(worker, `did not answer for ${MISSED_PINGS} s (does an agent loop for ever?)`);
  } else if (state.missed >= MISSED_PINGS) {
    state.missed = 0;
    watched.say("The Worker did not come back by itself. Wrangler is started again.");
    await watched.restart();
  }
}

export async function ping(port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/ok`, {
      signal: AbortSignal.timeout(PING_MS),
    });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
