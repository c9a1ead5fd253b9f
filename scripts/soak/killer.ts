import { randomOf } from "./random.ts";
import { pause, type Server } from "./server.ts";

/** So many runs end between two kills: however slow the machine is, no run meets three, which would rightly end it. */
const RUNS_BETWEEN = [90, 220] as const;
/** Maximum time after the restart for answers of the killed Worker. */
const AFTER_MS = 2_000;
const DOWN_MS = 60_000;
const LOOK_MS = 20;

/** Kills the Worker repeatedly until it is stopped. */
export function startKiller(
  seed: number,
  server: Server,
  kill: () => Promise<void>,
  ended: () => number,
) {
  const random = randomOf(seed);
  let [isStopped, kills] = [false, 0];
  const work = async () => {
    while (!isStopped) {
      const next = ended() + random.between(...RUNS_BETWEEN);
      while (!isStopped && ended() < next) await pause(LOOK_MS);
      if (isStopped) return;
      server.down(DOWN_MS);
      await kill();
      kills++;
      await server.call("GET", "/ok");
      server.down(AFTER_MS);
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
