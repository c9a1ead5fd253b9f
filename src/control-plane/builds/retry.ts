import { ATTEMPTS } from "./limits.ts";

const BASE_MS = 200;

/** Full jitter, bounded; for calls that may be made twice. */
export async function retry<T>(
  attempt: () => Promise<T>,
  isTransient: (error: unknown) => boolean,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (tries >= ATTEMPTS || !isTransient(error)) throw error;
      const wait = Math.random() * BASE_MS * 2 ** tries;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}
