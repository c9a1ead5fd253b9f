// The main process's side of the pool in ../pool/.

type PoolEnv = {
  /** The pool, in the process of local/serve.ts. */
  PROCESSES: Fetcher;
};

/** Age up to which a claim is used again. The pool stops no process as idle that was claimed so recently. */
const FRESH_MS = 1000;

type Claim = { address: string; at_ms: number };

const claims = new Map<string, Claim>();

/** Returns the address of the process that runs the isolates of `key`. The pool starts a process if necessary. */
export async function claimProcess(env: PoolEnv, key: string): Promise<string> {
  const known = claims.get(key);
  if (known && Date.now() - known.at_ms < FRESH_MS) return known.address;
  const { address } = await post<{ address: string }>(env, "/claim", { key });
  claims.set(key, { address, at_ms: Date.now() });
  return address;
}

/** Returns the error to throw for a failed call: why its process ended, if the pool knows that, else `error`. */
export async function toLossError(
  env: PoolEnv,
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

/** Releases the process of `key`. The pool may reuse the process for another key when the work ended well. */
export async function releaseProcess(env: PoolEnv, key: string, isWell: boolean): Promise<void> {
  claims.delete(key);
  await post(env, "/release", { key, isWell });
}

async function post<T>({ PROCESSES }: PoolEnv, path: string, body: object): Promise<T> {
  const init = { method: "POST", body: JSON.stringify(body) };
  const response = await PROCESSES.fetch(`http://processes${path}`, init);
  if (!response.ok) throw new Error(await response.text());
  return response.json<T>();
}
