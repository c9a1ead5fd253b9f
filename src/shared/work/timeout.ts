/**
 * Splits the timeout into four timers: after the event loop was blocked only one timer has expired, so a result that has
 * already arrived wins the race.
 */
const PARTS = 4;

/** Returns the result of `onTimeout` when `work` takes longer than `ms`. `work` is not cancelled. */
export async function withTimeout<T>(work: Promise<T>, ms: number, onTimeout: () => T): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<void>((resolve) => {
    const wait = (parts: number) => {
      timer = setTimeout(() => (parts > 1 ? wait(parts - 1) : resolve()), ms / PARTS);
    };
    wait(PARTS);
  });
  try {
    return await Promise.race([work, timeout.then(onTimeout)]);
  } finally {
    clearTimeout(timer);
  }
}
