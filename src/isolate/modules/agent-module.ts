import { LOAD_FAILED } from "../environment-contract.ts";
import { failureText, toFailure } from "../failure.ts";
import { Call } from "../tcp/calls.ts";

type Exports = Record<string, unknown>;

/**
 * Export of a module of the agent, in the module `heddle:graphs`. The first call that needs the module loads it. While an
 * isolate starts, the runtime has no clock, no random values and no network, and modules need all of these.
 */
export type AgentModule = { load: () => Promise<Exports>; export_name: string };

/** Maximum time of a load, with what modules await at their top level. */
const LOAD_MS = 30_000;
const TOO_LATE = `The modules of the agent have not loaded within ${LOAD_MS / 1000} s.`;

/** Bounds what hosts write to their logs. */
const MAX_CHARACTERS = 4000;

const loaded = new WeakMap<AgentModule, Exports>();

/**
 * A module that did not load does not load later: the isolate is lost. Its calls throw this error, and the host uses
 * another isolate. The cause is what the module has thrown.
 */
export class LoadError extends Error {}

/** @throws LoadError */
export async function loadModule(module: AgentModule): Promise<Exports> {
  const known = loaded.get(module);
  if (known) return known;
  try {
    const exports = await inTime(Call.load(module.load));
    loaded.set(module, exports);
    return exports;
  } catch (cause) {
    const text = failureText(toFailure(cause)).slice(0, MAX_CHARACTERS);
    throw new LoadError(`${LOAD_FAILED} ${text}`, { cause });
  }
}

/** The call that loads may end, and a module may wait for ever. */
async function inTime<T>(loading: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(TOO_LATE)), LOAD_MS);
  });
  try {
    return await Promise.race([loading, late]);
  } finally {
    clearTimeout(timer);
  }
}
