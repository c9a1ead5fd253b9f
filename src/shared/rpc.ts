/** An answer that came over RPC and goes on to somebody else, who would have to dispose of it as it came. */
export async function handOn<T extends object>(answer: Promise<T>): Promise<T> {
  // The disposer is not enumerable.
  return { ...(await answer) };
}

/** Ends the call that an answer with a function keeps open, and with it the call's log. */
export function release(answer: object) {
  // The types of RPC results do not show that they are disposable.
  if (Symbol.dispose in answer) (answer as Disposable)[Symbol.dispose]();
}
