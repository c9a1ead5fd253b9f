/** A process that stood still, as on a busy machine, finds one part of a deadline gone, and not the answer too late. */
const PARTS = 4;

/** Returns the result of `late` after `ms`. The work is not stopped. */
export async function withDeadline<T>(answer: Promise<T>, ms: number, late: () => T): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const deadline = new Promise<void>((resolve) => {
    const wait = (parts: number) => {
      timer = setTimeout(() => (parts > 1 ? wait(parts - 1) : resolve()), ms / PARTS);
    };
    wait(PARTS);
  });
  try {
    return await Promise.race([answer, deadline.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}
