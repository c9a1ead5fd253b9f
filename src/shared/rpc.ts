/**
 * Strips the RPC disposer, so that the answer can be returned to another caller. With it, the answer would stay in this
 * isolate until that caller collects its copy.
 */
export async function detachRpcResult<T>(answer: Promise<T>): Promise<T> {
  const given = await answer;
  // The disposer is not enumerable.
  return typeof given === "object" && given !== null ? { ...given } : given;
}

/** Ends the call that an answer with a function keeps open. The log of the call ends then too. */
export function release(answer: object) {
  // The types of RPC results do not show that they are disposable.
  if (Symbol.dispose in answer) (answer as Disposable)[Symbol.dispose]();
}
