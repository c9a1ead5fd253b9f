// Local cron triggers do not fire by themselves. Here they fire often, so that no test waits a minute.
import { request } from "node:http";

const TICK_MS = 2000;
const TIMEOUT_MS = 30_000;

/** `socket`: the path of the entry of Miniflare, which has an endpoint for crons. */
export function startTicks(socket: string, crons: readonly string[]): void {
  let busy = false;
  setInterval(async () => {
    if (busy) return;
    busy = true;
    for (const cron of crons) await tick(socket, cron);
    busy = false;
  }, TICK_MS);
}

/** A Worker that is just starting misses a tick; the next one does the same work. */
function tick(socketPath: string, cron: string): Promise<void> {
  const path = `/cdn-cgi/local/scheduled?${new URLSearchParams({ cron })}`;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  return new Promise((resolve) => {
    const ticking = request({ socketPath, path, signal }, (response) => response.resume());
    ticking.once("error", () => {});
    ticking.once("close", resolve);
    ticking.end();
  });
}
