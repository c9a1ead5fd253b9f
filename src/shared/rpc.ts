/** An answer that came over RPC and goes on to somebody else, who would have to dispose of it as it came. */
export async function handOn<T extends object>(answer: Promise<T>): Promise<T> {
  // The disposer is not enumerable.
  return { ...(await answer) };
}
