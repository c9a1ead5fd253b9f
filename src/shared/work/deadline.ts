/** Returns the result of `late` after `ms`. The work is not stopped. */
export async function withDeadline<T>(answer: Promise<T>, ms: number, late: () => T): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const deadline = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    return await Promise.race([answer, deadline.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}
