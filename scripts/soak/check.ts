// Invariants of a thread at the end, read over HTTP.
import type { RequestedRun, ThreadCase } from "./cases.ts";
import { type Frame, type Reading, toFrame } from "./reader.ts";
import { pause, type Server } from "./server.ts";

type Run = { run_id: string; status: string; metadata: { tag?: string }; error?: unknown };
type Seen = {
  thread: { status: string };
  runs: Run[];
  log: string[];
  events: Map<string, Frame[]>;
};

export type Counts = Record<
  "success" | "interrupted" | "undone" | "second_attempts" | "reconnects" | "repeated_updates",
  number
>;

export const noCounts = (): Counts => ({
  success: 0,
  interrupted: 0,
  undone: 0,
  second_attempts: 0,
  reconnects: 0,
  repeated_updates: 0,
});

const SETTLE_MS = 60_000;
const STEPS = ["a", "b", "c"];

export async function checkCase(
  server: Server,
  place: ThreadCase,
  counts: Counts,
): Promise<string[]> {
  const seen = await look(server, place);
  const found = [
    ...(seen.thread.status === "busy" ? ["is busy and nothing runs"] : []),
    ...checkRuns(place, seen, counts),
    ...checkLog(place, seen),
    ...place.runs.flatMap((requested) => checkEvents(requested, seen, counts)),
    ...(place.reading ? checkThreadReading(place.reading, place, seen) : []),
  ];
  return found.map((what) => `thread ${place.number} (${place.thread_id}): ${what}`);
}

async function look(server: Server, { thread_id }: ThreadCase): Promise<Seen> {
  const path = `/threads/${thread_id}`;
  await waitUntilIdle(server, path);
  const [thread, runs, state] = await Promise.all([
    server.json<Seen["thread"]>("GET", path),
    server.json<Run[]>("GET", `${path}/runs?limit=1000`),
    server.json<{ values: { log?: string[] } }>("GET", `${path}/state`),
  ]);
  const events = new Map<string, Frame[]>();
  for (const { run_id } of runs) {
    events.set(run_id, await replay(server, `${path}/runs/${run_id}/stream`));
  }
  return { thread, runs, log: state.values.log ?? [], events };
}

/**
 * Reads the thread until it is not busy, or for `SETTLE_MS`. A run without a client continues after a crash when the
 * thread is read, or by the thread's alarm.
 */
async function waitUntilIdle(server: Server, path: string): Promise<void> {
  const deadline = performance.now() + SETTLE_MS;
  while (performance.now() < deadline) {
    const { status } = await server.json<Seen["thread"]>("GET", path);
    if (status !== "busy") return;
    await pause(100);
  }
}

/** Returns all events that are kept of a run that is over. */
export async function replay(server: Server, path: string): Promise<Frame[]> {
  const { text } = await server.call("GET", path);
  return text.split("\n\n").flatMap(toFrame);
}

function checkRuns({ runs }: ThreadCase, seen: Seen, counts: Counts): string[] {
  const found: string[] = [];
  const known = new Set(runs.map(({ tag }) => tag));
  for (const { run_id, status, metadata } of seen.runs) {
    if (!known.has(metadata.tag ?? "")) found.push(`run ${run_id} was never requested`);
    if (status === "pending" || status === "running")
      found.push(`run ${run_id} is ${status} for ever`);
  }
  return [...found, ...runs.flatMap((requested) => checkRun(requested, seen, counts))];
}

function checkRun(
  { tag, run_id, cancelled }: RequestedRun,
  { runs }: Seen,
  counts: Counts,
): string[] {
  const same = runs.filter(({ metadata }) => metadata.tag === tag);
  const [run] = same;
  if (same.length > 1) return [`run ${tag} exists ${same.length} times`];
  if (!run) {
    counts.undone++;
    return cancelled.has("rollback") ? [] : [`run ${tag} (${run_id}) is lost`];
  }
  if (run.run_id !== run_id)
    return [`run ${tag} has the id ${run.run_id} and the answer named ${run_id}`];
  if (run.status === "success") counts.success++;
  else if (run.status === "interrupted" && cancelled.size > 0) counts.interrupted++;
  else if (run.status !== "pending" && run.status !== "running") {
    return [`run ${tag} (${run_id}) ended in ${run.status}: ${JSON.stringify(run.error)}`];
  }
  return [];
}

/**
 * Checks the log of the thread. It has the runs in the order of their acceptance, and each step of a run once. Only a
 * cancelled run may lack steps.
 */
function checkLog({ runs }: ThreadCase, seen: Seen): string[] {
  const expected: string[] = [];
  for (const { tag } of runs) {
    const run = seen.runs.find(({ metadata }) => metadata.tag === tag);
    const written = seen.log.filter((mark) => mark.startsWith(`${tag}:`)).length;
    const steps = run?.status === "success" ? STEPS.length : run ? written : 0;
    expected.push(...STEPS.slice(0, steps).map((step) => `${tag}:${step}`));
  }
  if (expected.join() === seen.log.join()) return [];
  const at = expected.findIndex((mark, n) => mark !== seen.log[n]);
  const [want, got] = [expected, seen.log].map((log) =>
    log.slice(Math.max(at - 3, 0), at + 6).join(" "),
  );
  return [
    `the state is not that of its runs in order: expected ... ${want} ..., is ... ${got} ...`,
  ];
}

function checkEvents(
  { tag, run_id, readings, results }: RequestedRun,
  seen: Seen,
  counts: Counts,
): string[] {
  const run = seen.runs.find((one) => one.run_id === run_id);
  const events = seen.events.get(run_id) ?? [];
  return [
    ...readings.flatMap((reading) => {
      counts.reconnects += Math.max(reading.connections - 1, 0);
      return checkReading(reading, events, run === undefined);
    }),
    ...(run?.status === "success" ? checkStory(tag, events, counts) : []),
    ...(run?.status === "success" ? results.flatMap((text) => checkResult(tag, text)) : []),
  ];
}

/**
 * Compares the thread's stream with the events of its runs, one run after the other. The ids are taken from the stream:
 * those of a run's own stream begin again with each run.
 */
function checkThreadReading(reading: Reading, place: ThreadCase, seen: Seen): string[] {
  const all = place.runs.flatMap(({ run_id }) => seen.events.get(run_id) ?? []);
  const events = all.map((frame, n) => ({ ...frame, id: reading.frames[n]?.id ?? 0 }));
  return checkReading(reading, events, isUndone(place, seen));
}

function checkReading(
  { what, frames, is_whole }: Reading,
  events: Frame[],
  isGone: boolean,
): string[] {
  const back = frames.findIndex(({ id }, n) => n > 0 && id <= (frames[n - 1]?.id ?? 0));
  if (back >= 0) return [`${what} received event ${frames[back]?.id} again, or too late`];
  if (isGone) return [];
  const expected = events.slice(0, is_whole ? events.length : frames.length);
  const at = expected.findIndex((event, n) => JSON.stringify(event) !== JSON.stringify(frames[n]));
  if (at < 0 && expected.length === frames.length) return [];
  const [want, got] = [expected[at], frames[at]].map((frame) =>
    JSON.stringify(frame)?.slice(0, 120),
  );
  return [
    `${what} received ${frames.length} of ${expected.length} events; where ${want} was, it received ${got}`,
  ];
}

export function attemptsOf(events: Frame[]): number[] {
  return events
    .filter(({ event }) => event === "metadata")
    .map(({ data }) => JSON.parse(data).attempt);
}

/**
 * Checks that attempts count up from 1, and that updates, if the run streams them, have all steps. Only a later attempt may
 * repeat a step.
 */
function checkStory(tag: string, events: Frame[], counts: Counts): string[] {
  const attempts = attemptsOf(events);
  const isCounted = attempts.length > 0 && attempts.every((attempt, n) => attempt === n + 1);
  if (!isCounted) return [`the attempts of ${tag} are [${attempts}]`];
  counts.second_attempts += attempts.length - 1;
  const nodes = events
    .filter(({ event }) => event === "updates")
    .flatMap(({ data }) => Object.keys(JSON.parse(data)));
  const distinct = [...new Set(nodes)];
  counts.repeated_updates += nodes.length - distinct.length;
  if (nodes.length > 0 && distinct.join() !== STEPS.join())
    return [`${tag} has the steps ${nodes}`];
  return nodes.length > STEPS.length && attempts.length < 2
    ? [`${tag} has ${nodes} in one attempt`]
    : [];
}

function checkResult(tag: string, text: string): string[] {
  const log: string[] = JSON.parse(text)?.log ?? [];
  const isThere = STEPS.every((step) => log.includes(`${tag}:${step}`));
  return isThere ? [] : [`the result of ${tag} is without its steps: ${text.slice(0, 200)}`];
}

function isUndone({ runs }: ThreadCase, seen: Seen): boolean {
  return runs.some(({ run_id }) => !seen.runs.some((run) => run.run_id === run_id));
}
