// Distinguishes a stuck Worker from a slow machine, by its processor time and its progress rather than by the clock.
// The functions have no I/O.
import { totalmem } from "node:os";

export type Worker = {
  pid: number;
  rss_bytes: number;
  cpu_ms: number;
  /** Number of its system calls to read or write so far. An endless loop makes none. `null` where it is unknown. */
  io_calls: number | null;
  /** Whether a signal has stopped it, as a backup does. */
  is_stopped: boolean;
};

export type Look = {
  now_ms: number;
  worker: Worker | undefined;
  /** Whether the Worker answered since the last look. */
  answered: boolean;
  /** Whether the process that starts workerd is alive. */
  host_lives: boolean;
};

export type Waiting = {
  /** Id of the Worker's process at the last look; 0 for none. */
  pid: number;
  is_up: boolean;
  /** Time of the last answer, or of the beginning of a start. */
  since_ms: number;
  /** Processor time of the Worker at `since_ms`, or at its last progress. */
  cpu_ms: number;
  io_calls: number | null;
  start_patience_ms: number;
};

export type Verdict =
  | { is: "fine" }
  | { is: "kill"; pid: number; why: string }
  | { is: "restart"; why: string };

/** Processor time without an answer or progress. Longer than any blocking step of the Worker. */
const COMPUTES_MS = 10_000;
/** The same during a start, which computes for long on a small machine. */
const START_COMPUTES_MS = 20_000;
/** Time without an answer, for a Worker that computes little and makes no progress. */
export const SILENT_MS = 120_000;
/** Time without an answer, for a stopped process. Longer than the pause of a backup, which continues it at its end. */
const STOPPED_MS = 10_000;
/** Time without an answer, for a Worker that makes progress with other work. */
const BUSY_MS = 600_000;
/** Time for the first answer. It doubles at each restart until there is an answer: no machine is too slow. */
const START_MS = 30_000;
/** A longer time between two looks, which are a second apart, is a pause of the whole machine. */
const PAUSE_MS = 15_000;
/**
 * A quarter of the machine's memory, at least 2 GiB: the object of a thread takes up to a megabyte until ten seconds
 * after its last call.
 */
export const MAX_RSS_BYTES = Math.max(2 * 1024 ** 3, totalmem() / 4);
const FINE: Verdict = { is: "fine" };

export function startAt(now_ms: number, start_patience_ms = START_MS): Waiting {
  return { pid: 0, is_up: false, since_ms: now_ms, cpu_ms: 0, io_calls: null, start_patience_ms };
}

/** Adds a pause of the whole machine to `since_ms`, so that it does not count as silence of the Worker. */
export function withoutPause(waiting: Waiting, looked_ms: number, now_ms: number): Waiting {
  const paused_ms = now_ms - looked_ms;
  return paused_ms > PAUSE_MS ? { ...waiting, since_ms: waiting.since_ms + paused_ms } : waiting;
}

/** Returns the state for the next look, and what to do with the Worker. */
export function judge(waiting: Waiting, look: Look): [Waiting, Verdict] {
  const { now_ms, worker } = look;
  const isLate = !waiting.is_up && now_ms - waiting.since_ms > waiting.start_patience_ms;
  if (!look.host_lives || isLate) {
    const why = isLate ? "did not come up" : "ended with the process that starts it";
    return [startAt(now_ms, waiting.start_patience_ms * 2), { is: "restart", why }];
  }
  if (worker !== undefined) return judgeWorker(waiting, worker, look);
  return [waiting.is_up ? startAt(now_ms) : { ...waiting, pid: 0 }, FINE];
}

function judgeWorker(waiting: Waiting, worker: Worker, look: Look): [Waiting, Verdict] {
  const { now_ms, answered } = look;
  if (worker.rss_bytes > MAX_RSS_BYTES) {
    const megabytes = Math.round(worker.rss_bytes / 1024 ** 2);
    const why = `grew to ${megabytes} MB (deployed, an isolate may have 128 MB)`;
    return [startAt(now_ms), { is: "kill", pid: worker.pid, why }];
  }
  // The Worker is a new process: the last answer may have come from its predecessor.
  if (worker.pid !== waiting.pid) {
    const start = waiting.is_up ? startAt(now_ms) : waiting;
    return [{ ...start, pid: worker.pid, cpu_ms: 0, io_calls: null }, FINE];
  }
  if (answered) return [{ ...up(worker), since_ms: now_ms }, FINE];
  return judgeSilence(waiting, worker, now_ms);
}

function judgeSilence(waiting: Waiting, worker: Worker, now_ms: number): [Waiting, Verdict] {
  const computed_ms = worker.cpu_ms - waiting.cpu_ms;
  const limit_ms = waiting.is_up ? COMPUTES_MS : START_COMPUTES_MS;
  const { io_calls } = worker;
  const isProgress = io_calls !== null && io_calls !== waiting.io_calls;
  const silence_ms = patienceWith(worker, isProgress);
  const isSilent = waiting.is_up && now_ms - waiting.since_ms > silence_ms;
  if (isProgress && !isSilent) return [{ ...waiting, cpu_ms: worker.cpu_ms, io_calls }, FINE];
  if (computed_ms <= limit_ms && !isSilent) return [waiting, FINE];
  const why = isSilent
    ? `did not answer for ${silence_ms / 1000} s`
    : `computed for ${limit_ms / 1000} s and did not answer (does an agent loop for ever?)`;
  return [startAt(now_ms), { is: "kill", pid: worker.pid, why }];
}

function patienceWith({ is_stopped }: Worker, isProgress: boolean): number {
  if (is_stopped) return STOPPED_MS;
  return isProgress ? BUSY_MS : SILENT_MS;
}

function up({ pid, cpu_ms, io_calls }: Worker): Omit<Waiting, "since_ms"> {
  return { pid, is_up: true, cpu_ms, io_calls, start_patience_ms: START_MS };
}
