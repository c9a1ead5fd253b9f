import { randomOf } from "./random.ts";
import { pause, type Server } from "./server.ts";

/**
 * Bounds of the number of runs that end between two kills. With bounds in time, a slow machine could lose one run at
 * each kill, until Heddle ends it after its last attempt.
 */
const RUNS_BETWEEN_KILLS = [90, 220] as const;
/** Maximum time of a kill and the restart. */
const DOWN_MS = 60_000;
/** Maximum time after the restart for answers of the killed Worker. */
const AFTER_MS = 2_000;
const POLL_MS = 20;

/** Kills the Worker repeatedly until it is stopped. */
export function startKiller(
  seed: number,
  server: Server,
  kill: () => Promise<void>,
  endedRuns: () => number,
) {
  const random = randomOf(seed);
  let [isStopped, kills] = [false, 0];
  const work = async () => {
    while (!isStopped) {
      const next = endedRuns() + random.between(...RUNS_BETWEEN_KILLS);
      while (!isStopped && endedRuns() < next) await pause(POLL_MS);
      if (isStopped) return;
      server.expectFailures(DOWN_MS);
      await kill();
      kills++;
      await server.call("GET", "/ok");
      server.expectFailures(AFTER_MS);
    }
  };
  const done = work();
  return {
    get kills() {
      return kills;
    },
    stop() {
      isStopped = true;
      return done;
    },
  };
}
