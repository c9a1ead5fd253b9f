import { driveOne, driveQueue, newCase, type RunListener, type ThreadCase } from "./cases.ts";
import { checkCase, noCounts } from "./check.ts";
import type { startFaults } from "./faults.ts";
import { startKiller } from "./killer.ts";
import { Progress } from "./progress.ts";
import { pause, type Server } from "./server.ts";

export type Plan = { seed: number; threads: number; queues: number; runs: number };
type Print = (line: string) => void;

/** Threads of one run that are driven at once. */
const LANES = 24;
const PRINT_MS = 5_000;
/** Time after the last request in which queued runs must end. */
const SETTLE_MS = 60_000;

export async function soak(
  plan: Plan,
  server: Server,
  kill: () => Promise<void>,
  print: Print,
  faults: ReturnType<typeof startFaults> | null,
): Promise<{ findings: string[]; summary: string }> {
  const started = performance.now();
  const progress = new Progress();
  const expected = plan.threads + plan.queues * plan.runs;
  const killer = startKiller(plan.seed, server, kill, () => progress.ended_count);
  const seconds = () => Math.round((performance.now() - started) / 1000);
  const line = () =>
    `${seconds()} s: ${progress.accepted_count} runs of ${expected} accepted, ${progress.ended_count} over for their clients, ${killer.kills} kills, ${faults?.failures ?? 0} faults`;
  const timer = setInterval(() => print(line()), PRINT_MS);
  try {
    const cases = await Promise.race([drive(plan, server, progress), progress.stall()]);
    await killer.stop();
    print(line());
    if (cases === null) return { findings: progress.open(), summary: line() };
    const traced = (await faults?.checkTraces(server, cases)) ?? [];
    await faults?.stop();
    const late = await settle(server);
    const counts = noCounts();
    const found = await inLanes(cases, LANES, (place) => checkCase(server, place, counts));
    return {
      findings: [...late, ...traced, ...found.flat(), ...server.broken],
      summary: `${seconds()} s, ${cases.length} threads, ${killer.kills} kills, ${faults?.failures ?? 0} faults: ${JSON.stringify(counts)}`,
    };
  } finally {
    clearInterval(timer);
    await killer.stop();
  }
}

async function drive(
  { seed, threads, queues, runs }: Plan,
  server: Server,
  listener: RunListener,
): Promise<ThreadCase[]> {
  const cases = Array.from({ length: threads + queues }, (_, number) => newCase(seed, number));
  const [long, short] = [cases.slice(0, queues), cases.slice(queues)];
  await Promise.all([
    inLanes(short, LANES, (one) => driveOne({ server, progress: listener, ...one })),
    ...long.map((one) => driveQueue({ server, progress: listener, ...one }, runs)),
  ]);
  return cases.map(({ place }) => place);
}

/** Waits until no thread is busy. Reads only the directory, which is updated last. Returns findings. */
async function settle(server: Server): Promise<string[]> {
  const deadline = performance.now() + SETTLE_MS;
  for (;;) {
    const busy = await server.json<{ thread_id: string }[]>("POST", "/threads/search", {
      status: "busy",
      limit: 1000,
    });
    if (busy.length === 0) return [];
    if (performance.now() > deadline) {
      return [
        `${busy.length} threads are busy after ${SETTLE_MS} ms, such as ${busy[0]?.thread_id}`,
      ];
    }
    await pause(500);
  }
}

async function inLanes<T, R>(
  all: readonly T[],
  lanes: number,
  work: (one: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const lane = async () => {
    for (let n = next++; n < all.length; n = next++) results[n] = await work(all[n] as T);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}
