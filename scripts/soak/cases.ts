// The load on each thread, which depends only on the seed and the thread's number.
import { type Random, randomOf } from "./random.ts";
import { newReading, type Reading, readFrames, readRun } from "./reader.ts";
import { pause, type Server } from "./server.ts";

/** A run and everything that its client received. */
export type RequestedRun = {
  tag: string;
  run_id: string;
  /** Actions of cancellations that were requested for the run. With one, the run need not complete. */
  cancelled: Set<"interrupt" | "rollback">;
  readings: Reading[];
  /** Results of wait and join. */
  results: string[];
};

export type ThreadCase = {
  number: number;
  thread_id: string;
  /** In the order in which the server has accepted them. */
  runs: RequestedRun[];
  /** Frames of the thread's stream. */
  reading: Reading | null;
};

/** Receives the start and the end of each run. */
export type RunListener = { accepted(run: string): void; ended(run: string): void };
type Scene = { server: Server; random: Random; place: ThreadCase; progress: RunListener };

/** Maximum milliseconds of a step. A kill interrupts a run of long steps after its first write. */
const DELAY_MS = { short: 30, long: 250 };
const MODES = [["values"], ["updates"], ["updates", "values"], ["updates", "debug"]];

export function newCase(seed: number, number: number): { place: ThreadCase; random: Random } {
  const random = randomOf(seed * 100_003 + number);
  const thread_id = uuidOf(random);
  return { place: { number, thread_id, runs: [], reading: null }, random };
}

/** Drives a thread with one run. */
export async function driveOne(scene: Scene): Promise<void> {
  await createThread(scene);
  await driveRun(scene, `t${scene.place.number}r0`, 0.3);
}

/** Drives a thread with a queue of runs and a reader of the whole thread. */
export async function driveQueue(scene: Scene, runs: number): Promise<void> {
  await createThread(scene);
  const { server, random, place } = scene;
  const isOver = new AbortController();
  place.reading = newReading(`thread ${place.number}`);
  const follower = followThread(server, random.fork(), place, place.reading, isOver.signal);
  const driven: Promise<void>[] = [];
  for (let n = 0; n < runs; n++) {
    const accepted = Promise.withResolvers<void>();
    const progress = {
      ended: (name: string) => scene.progress.ended(name),
      accepted: (name: string) => {
        scene.progress.accepted(name);
        accepted.resolve();
      },
    };
    const run = driveRun({ ...scene, progress }, `t${place.number}r${n}`, 0.2);
    driven.push(run);
    // Waits for each answer before the next request, so that the order of the runs is known.
    await Promise.race([accepted.promise, run]);
  }
  await Promise.all(driven);
  isOver.abort();
  await follower;
}

async function createThread({ server, place }: Scene) {
  const body = { thread_id: place.thread_id, if_exists: "do_nothing" };
  await server.json("POST", "/threads", body);
}

async function driveRun(scene: Scene, tag: string, cancels: number): Promise<void> {
  const random = scene.random.fork();
  const { progress } = scene;
  const own = () => ({ ...scene, random: random.fork() });
  const kind = random.pick({ background: 3, stream: 4, wait: 2, leaves: 1 });
  const cancel = random.chance(cancels) ? random.pick({ interrupt: 1, rollback: 1 }) : null;
  const run: RequestedRun = { tag, run_id: "", cancelled: new Set(), readings: [], results: [] };
  const response = await begin(own(), run, kind);
  const name = `${tag} (run ${run.run_id} of thread ${scene.place.thread_id})`;
  progress.accepted(name);
  const ways = [follow(own(), run, kind, response)];
  if (cancel) ways.push(cancelLater(own(), run, cancel));
  if (random.chance(0.2)) ways.push(readAgain(own(), run));
  await Promise.all(ways);
  progress.ended(name);
}

type Kind = "background" | "stream" | "wait" | "leaves";
const ENDPOINT = { background: "", stream: "/stream", wait: "/wait", leaves: "/stream" } as const;

/** Repeats the request until the run exists, and not after. @returns `null` when the answer was lost */
async function begin(scene: Scene, run: RequestedRun, kind: Kind): Promise<Response | null> {
  const { server, random, place } = scene;
  const path = `/threads/${place.thread_id}/runs`;
  const body = {
    assistant_id: "soak",
    input: { tag: run.tag, delay_ms: random.upTo(DELAY_MS[random.pick({ short: 5, long: 1 })]) },
    metadata: { tag: run.tag },
    stream_mode: MODES[random.upTo(MODES.length - 1)],
    ...(kind === "leaves" && { on_disconnect: "cancel" }),
  };
  place.runs.push(run);
  for (;;) {
    const response = await server.once("POST", path + ENDPOINT[kind], { body });
    if (response && !response.ok)
      throw new Error(`${path}: ${response.status} ${await response.text()}`);
    run.run_id = response ? idOf(response) : await findRun(scene, run.tag);
    if (run.run_id !== "") return response;
    await pause(200);
  }
}

function idOf(response: Response): string {
  return response.headers.get("content-location")?.split("/").at(-1) ?? "";
}

/** Returns the id of the run if the Worker accepted it before it was killed, else an empty text. */
async function findRun({ server, place }: Scene, tag: string): Promise<string> {
  const path = `/threads/${place.thread_id}/runs?limit=1000`;
  const runs = await server.json<{ run_id: string; metadata: { tag?: string } }[]>("GET", path);
  return runs.find(({ metadata }) => metadata.tag === tag)?.run_id ?? "";
}

async function follow(scene: Scene, run: RequestedRun, kind: Kind, response: Response | null) {
  if (kind === "stream" || kind === "leaves") return followStream(scene, run, kind, response);
  if (kind === "background") await response?.body?.cancel();
  const text = kind === "wait" ? await response?.text().catch(() => null) : null;
  if (typeof text === "string") run.results.push(text);
  else if (scene.random.chance(0.5)) run.results.push(await join(scene, run));
}

async function followStream(
  scene: Scene,
  run: RequestedRun,
  kind: "stream" | "leaves",
  response: Response | null,
) {
  const { server, random } = scene;
  const reading = newReading(`the stream of ${run.tag}`);
  run.readings.push(reading);
  const leaves = kind === "leaves" || random.chance(0.6);
  if (kind === "leaves") run.cancelled.add("interrupt");
  const most = leaves ? random.upTo(4) : Number.POSITIVE_INFINITY;
  const how = response ? await readFrames(response, reading, most) : "broken";
  reading.is_whole = how === "closed";
  if (kind === "leaves" || reading.is_whole) return;
  await readRun({ server, path: streamOf(scene, run), random, reading });
}

async function join({ server, place }: Scene, { run_id }: RequestedRun): Promise<string> {
  return (await server.call("GET", `/threads/${place.thread_id}/runs/${run_id}/join`)).text;
}

async function readAgain(scene: Scene, run: RequestedRun) {
  const { server, random } = scene;
  const reading = newReading(`a second reader of ${run.tag}`);
  run.readings.push(reading);
  await pause(random.upTo(300));
  await readRun({ server, path: streamOf(scene, run), random, reading });
}

async function cancelLater(
  { server, random, place }: Scene,
  run: RequestedRun,
  action: "interrupt" | "rollback",
) {
  await pause(random.upTo(400));
  run.cancelled.add(action);
  const path = `/threads/${place.thread_id}/runs/${run.run_id}/cancel`;
  const query = `?action=${action}&wait=${random.upTo(1)}`;
  const { status, text } = await server.call("POST", path + query);
  // After a crash the run can be undone already.
  const isGone = action === "rollback" && status === 404;
  if (status >= 300 && !isGone) throw new Error(`${path}: ${status} ${text}`);
}

function streamOf({ place }: Scene, { run_id }: RequestedRun): string {
  return `/threads/${place.thread_id}/runs/${run_id}/stream`;
}

async function followThread(
  server: Server,
  random: Random,
  { thread_id }: ThreadCase,
  reading: Reading,
  signal: AbortSignal,
) {
  while (!signal.aborted) {
    const headers = { "last-event-id": String(reading.frames.at(-1)?.id ?? "-") };
    const options = { headers, signal };
    const response = await server
      .open("GET", `/threads/${thread_id}/stream`, options)
      .catch(() => null);
    if (response) await readFrames(response, reading, random.between(5, 60));
    await pause(random.upTo(100));
  }
}

/** Returns a UUID of version 4 that depends only on the seed. */
function uuidOf(random: Random): string {
  const hex = Array.from({ length: 32 }, () => random.upTo(15).toString(16));
  hex[12] = "4";
  hex[16] = "8";
  const text = hex.join("");
  return [
    text.slice(0, 8),
    text.slice(8, 12),
    text.slice(12, 16),
    text.slice(16, 20),
    text.slice(20),
  ].join("-");
}
