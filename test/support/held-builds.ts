import { env } from "cloudflare:workers";
import { afterEach, beforeEach, vi } from "vitest";

/** Keeps the builds of a file's tests from the queue, which delivers at once: only a test that claims one builds it. */
export function holdBuilds(): void {
  let held: { mockRestore(): void };
  beforeEach(() => {
    held = vi.spyOn(env.BUILDS, "sendBatch").mockResolvedValue(undefined as never);
  });
  afterEach(() => held.mockRestore());
}
