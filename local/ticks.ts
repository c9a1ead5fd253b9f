// Local cron triggers do not fire by themselves.
import { request } from "node:http";

/** The first tick comes early: it repeats work that a crash has interrupted. */
const FIRST_MS = 2000;
const TIMEOUT_MS = 30_000;

type Ticks = { crons: readonly string[]; pause_ms: number };

/** `socket`: the path of the entry of Miniflare, which has an endpoint for crons. */
export function startTicks(socket: string, { crons, pause_ms }: Ticks): void {
  const fire = async () => {
    for (const cron of crons) await tick(socket, cron);
    setTimeout(fire, pause_ms);
  };
  setTimeout(fire, FIRST_MS);
}

/** Ignores errors: a Worker that is just starting misses a tick, and the next one does the same work. */
export function tick(socketPath: string, cron: string): Promise<void> {
  const path = `/cdn-cgi/local/scheduled?${new URLSearchParams({ cron })}`;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  return new Promise((resolve) => {
    const ticking = request({ socketPath, path, signal }, (response) => response.resume());
    ticking.once("error", () => {});
    ticking.once("close", resolve);
    ticking.end();
  });
}
