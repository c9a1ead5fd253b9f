/** Strips the RPC disposer, so that the answer can be returned to another caller. */
export async function detachRpcResult<T extends object>(answer: Promise<T>): Promise<T> {
  // The disposer is not enumerable.
  return { ...(await answer) };
}

/** Ends the call that an answer with a function keeps open, and with it the call's log. */
export function release(answer: object) {
  // The types of RPC results do not show that they are disposable.
  if (Symbol.dispose in answer) (answer as Disposable)[Symbol.dispose]();
}
