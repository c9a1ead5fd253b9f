import { expect, test } from "vitest";
import { AppError } from "../../../src/shared/errors.ts";
import { watchedStream } from "../../../src/shared/work/watched-stream.ts";

const REFUSAL = new AppError("unauthenticated", "The session is over.");

test.each([true, false])("a watch that ends its stream is ended, at once: %s", async (isAtOnce) => {
  let watches = 0;
  let end = (_: AppError) => {};
  const stream = watchedStream(new ReadableStream(), (endStream) => {
    watches += 1;
    end = endStream;
    if (isAtOnce) end(REFUSAL);
    return () => {
      watches -= 1;
    };
  });
  if (!isAtOnce) {
    expect(watches).toBe(1);
    end(REFUSAL);
  }
  await expect(stream.getReader().read()).rejects.toThrow(REFUSAL.message);
  expect(watches).toBe(0);
});
