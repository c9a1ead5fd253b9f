// Local cron triggers do not fire by themselves; here they fire often, so that nobody waits a minute.
const TICK_MS = 2000;

export function startTicks(url: string, crons: readonly string[]): { stop(): void } {
  let busy = false;
  const timer = setInterval(async () => {
    if (busy) return;
    busy = true;
    for (const cron of crons) await tick(url, cron);
    busy = false;
  }, TICK_MS);
  return { stop: () => clearInterval(timer) };
}

/** A Worker that is just starting misses a tick; the next one does the same work. */
async function tick(url: string, cron: string): Promise<void> {
  const query = new URLSearchParams({ cron });
  try {
    const response = await fetch(`${url}/cdn-cgi/local/scheduled?${query}`, {
      signal: AbortSignal.timeout(30_000),
    });
    await response.body?.cancel();
  } catch {}
}
