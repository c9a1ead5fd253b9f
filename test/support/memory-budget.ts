import { ISOLATE_BUDGET } from "../../src/shared/work/memory-budget.ts";

const LIMIT_BYTES = 8 * 1024 * 1024;

/** Takes all that the isolate admits, until the test ends it. */
export async function fillBudget() {
  const end = Promise.withResolvers<void>();
  const fill = (bytes: number) => {
    const filled = Promise.withResolvers<void>();
    const held = ISOLATE_BUDGET.hold(async (reserve) => {
      await reserve(bytes);
      filled.resolve();
      await end.promise;
    });
    return { filled: filled.promise, held };
  };
  const works = [fill(LIMIT_BYTES), fill(LIMIT_BYTES)];
  await Promise.all(works.map(({ filled }) => filled));
  return async () => {
    end.resolve();
    await Promise.all(works.map(({ held }) => held));
  };
}
