import { messageOf } from "../storage/outcomes.ts";

/**
 * Quarantine of runs that have lost their isolate. Any run of the same agent may have ended it, so each is retried in
 * a separate isolate. Where possible they run one at a time: the run that loses its isolate alone is the cause. Turns
 * are per workspace, because on one machine the quarantined runs of a workspace share a process. Only the objects in
 * this isolate of the Worker know of each other's runs.
 */

/** Time for which a run in quarantine keeps others out: a run that ends its isolate usually does so soon. */
const TURN_MS = 60_000;
/** Maximum wait for a turn. Many runs may wait at once: a single one can end the isolate of all. */
const MAX_WAIT_MS = 60_000;
const POLL_MS = 200;
/** Age at which a stay is dropped: an object that is evicted during a stay never ends it. */
const STAY_TTL_MS = 2 * 60 * 60 * 1000;

/** Time of a run in quarantine. Plain data: Durable Objects cannot await each other's promises. */
type Stay = { since: number; wasAlone: boolean };
const stays = new Map<string, Map<string, Stay>>();

/** The work failed, for any reason, and no other run of its workspace was in quarantine during the work. */
export class LostAloneError extends Error {
  override name = "LostAloneError";
}

/**
 * Calls `work` with the name of a quarantine, or without one after the maximum wait.
 * @throws LostAloneError when the work fails and no other run was in quarantine during it, else the error of the work
 */
export async function inQuarantine<T>(
  workspace_id: string,
  name: string,
  work: (quarantine?: string) => Promise<T>,
): Promise<T> {
  if (!(await enter(workspace_id, name))) return work();
  try {
    return await work(name);
  } catch (error) {
    if (!leave(workspace_id, name)) throw error;
    throw new LostAloneError(messageOf(error), { cause: error });
  } finally {
    leave(workspace_id, name);
  }
}

/** @returns whether the turn came */
async function enter(workspace_id: string, key: string): Promise<boolean> {
  const until = Date.now() + MAX_WAIT_MS;
  while (isTaken(staysOf(workspace_id))) {
    if (Date.now() >= until) return false;
    await scheduler.wait(POLL_MS);
  }
  const others = staysOf(workspace_id);
  for (const other of others.values()) other.wasAlone = false;
  others.set(key, { since: Date.now(), wasAlone: others.size === 0 });
  return true;
}

/** @returns whether no other run of the workspace was in quarantine at the same time */
function leave(workspace_id: string, key: string): boolean {
  const own = staysOf(workspace_id);
  const { wasAlone = false } = own.get(key) ?? {};
  own.delete(key);
  if (own.size === 0) stays.delete(workspace_id);
  return wasAlone;
}

function isTaken(others: Map<string, Stay>): boolean {
  const now = Date.now();
  for (const [key, { since }] of others) if (now - since > STAY_TTL_MS) others.delete(key);
  return [...others.values()].some(({ since }) => now - since < TURN_MS);
}

function staysOf(workspace_id: string): Map<string, Stay> {
  const inWorkspace = stays.get(workspace_id) ?? new Map<string, Stay>();
  stays.set(workspace_id, inWorkspace);
  return inWorkspace;
}
