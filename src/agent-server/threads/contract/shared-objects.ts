import { v7 } from "uuid";
import { fnv1a } from "../../../shared/fnv.ts";

/** Number of objects that the temporary threads of a deployment share. */
const OBJECTS = 1024;
/**
 * Maximum shared objects of a deployment that one isolate of the Worker uses. Further threads do not share an object.
 */
const MAX_USED = 256;
const MAX_DEPLOYMENTS = 1000;
/** Pause after an object got a thread: a short run has usually ended after it, with its traces delivered. */
const PAUSE_MS = 1000;
/** Longest pause after an object was not free for a thread. The pause doubles each time, and is never reset. */
const MAX_PAUSE_MS = 64_000;

type SharedObject = { ready_at: number; pause_ms: number };
type UsedObjects = { first: number; objects: SharedObject[] };

/** Objects that this isolate has used, by deployment. `ready_at` is an estimate: an object in use refuses a thread. */
const used = new Map<string, UsedObjects>();

/**
 * Returns an id for a new temporary thread and its run. The id has the number of an object that may be free, if any.
 */
export function newTemporaryId(deployment_id: string): string {
  const number = takeObject(deployment_id, Date.now());
  return number === null ? v7() : idWithNumber(number);
}

/** Remembers that the object was not free for the thread. */
export function avoidObject(deployment_id: string, number: number): void {
  const { first, objects } = usedOf(deployment_id);
  const object = objects[(number - first + OBJECTS) % OBJECTS];
  if (!object) return;
  object.pause_ms = Math.min(object.pause_ms * 2, MAX_PAUSE_MS);
  object.ready_at = Date.now() + object.pause_ms;
}

/** Takes the first object that may be free, so that few objects are in memory. @returns `null` when all are in use */
function takeObject(deployment_id: string, now: number): number | null {
  const { first, objects } = usedOf(deployment_id);
  let at = objects.findIndex(({ ready_at }) => ready_at <= now);
  if (at < 0 && objects.length === MAX_USED) return null;
  if (at < 0) at = objects.push({ ready_at: 0, pause_ms: PAUSE_MS }) - 1;
  const object = objects[at];
  if (object) object.ready_at = now + PAUSE_MS;
  return (first + at) % OBJECTS;
}

/** Isolates begin at random numbers, so that few of them use the same object. */
function usedOf(deployment_id: string): UsedObjects {
  const known = used.get(deployment_id);
  if (known) return known;
  const fresh = { first: Math.floor(Math.random() * OBJECTS), objects: [] };
  used.set(deployment_id, fresh);
  const [oldest] = used.keys();
  if (oldest !== undefined && used.size > MAX_DEPLOYMENTS) used.delete(oldest);
  return fresh;
}

/** An id with a number ends with a mark of five hexadecimal digits, a hash of the digits before, and the number. */
const NUMBER_DIGITS = 3;
const MARK_DIGITS = 5;

export function idWithNumber(number: number): string {
  const begin = v7().slice(0, -NUMBER_DIGITS - MARK_DIGITS);
  return begin + markOf(begin) + number.toString(16).padStart(NUMBER_DIGITS, "0");
}

/**
 * Returns the number of the shared object that may have the thread. One in a million ids without a number has the mark
 * by chance: its thread is not in the shared object. Callers then continue with the thread's own object.
 * @returns `null` for an id without the mark
 */
export function sharedObjectOf(thread_id: string): number | null {
  const begin = thread_id.slice(0, -NUMBER_DIGITS - MARK_DIGITS);
  if (thread_id.slice(begin.length, -NUMBER_DIGITS) !== markOf(begin)) return null;
  return Number.parseInt(thread_id.slice(-NUMBER_DIGITS), 16);
}

function markOf(text: string): string {
  return (fnv1a(text) >>> 12).toString(16).padStart(MARK_DIGITS, "0");
}
