// The main process's side of the pool in ../pool/.
import type { MainEnv } from "./debug-port.ts";

/** Within it a process is not stopped for being idle, so its address needs no new claim. */
const FRESH_MS = 1000;

type Claim = { address: string; at_ms: number };

const claims = new Map<string, Claim>();

/** Returns the address of the process that runs the isolates of `key`, which starts when there is none. */
export async function claimProcess(env: MainEnv, key: string): Promise<string> {
  const known = claims.get(key);
  if (known && Date.now() - known.at_ms < FRESH_MS) return known.address;
  const { address } = await post<{ address: string }>(env, "/claim", { key });
  claims.set(key, { address, at_ms: Date.now() });
  return address;
}

/** Returns the error of a call that failed: the pool knows why a process ended. */
export async function toLossError(
  env: MainEnv,
  key: string,
  address: string,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof Error) || !isDisconnect(error)) return error;
  claims.delete(key);
  const { why } = await post<{ why: string | null }>(env, "/lost", { address });
  return why === null ? error : new Error(why, { cause: error });
}

function isDisconnect({ message }: Error): boolean {
  return message.startsWith("Network connection lost");
}

async function post<T>({ PROCESSES }: MainEnv, path: string, body: object): Promise<T> {
  const init = { method: "POST", body: JSON.stringify(body) };
  const response = await PROCESSES.fetch(`http://processes${path}`, init);
  if (!response.ok) throw new Error(await response.text());
  return response.json<T>();
}
