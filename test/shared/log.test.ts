import { DrizzleQueryError } from "drizzle-orm";
import { afterEach, expect, test, vi } from "vitest";
import { log } from "../../src/shared/log.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

test("a failed query is logged with its cause and without what it was given", () => {
  const print = vi.spyOn(console, "error").mockReturnValue();
  const cause = new Error("D1_ERROR: no such table");
  const query = "insert into secrets values (?)";
  log.error(
    "failed",
    new Error("outer", { cause: new DrizzleQueryError(query, ["hunter2"], cause) }),
  );
  const [line] = print.mock.calls.flat();
  expect(line).toContain(query);
  expect(line).toContain("no such table");
  expect(line).not.toContain("hunter2");
});
