// Stands in for the limits that local workerd does not enforce: a Worker that blocks the whole
// process (an agent that loops for ever) or eats the machine's memory is killed, and starts again.
import { findWorker, kill } from "./processes.ts";

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

export function watch(watched: Watched): { stop(): void } {
  const state = { missed: 0, killed: false, stopped: false };
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

async function beat(
  watched: Watched,
  state: { missed: number; killed: boolean; stopped: boolean },
) {
  const [answers, worker] = await Promise.all([
    ping(watched.port),
    findWorker(watched.pid(), watched.port),
  ]);
  if (state.stopped) return;
  if (worker && worker.rss_bytes > RSS_LIMIT_BYTES) {
    watched.say(
      `The Worker grew to ${Math.round(worker.rss_bytes / 1024 ** 2)} MB (deployed, an isolate may have 128 MB). It was killed and starts again.`,
    );
    kill(worker.pid, "SIGKILL");
  }
  state.missed = answers ? 0 : state.missed + 1;
  if (answers) state.killed = false;
  if (state.missed < MISSED_PINGS) return;
  state.missed = 0;
  if (worker && !state.killed) {
    state.killed = true;
    watched.say(
      `The Worker did not answer for ${MISSED_PINGS} s (does an agent loop for ever?). It was killed and starts again.`,
    );
    kill(worker.pid, "SIGKILL");
    return;
  }
  watched.say("The Worker did not come back by itself. Wrangler is started again.");
  await watched.restart();
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
