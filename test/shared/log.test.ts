import { DrizzleQueryError } from "drizzle-orm";
import { afterEach, expect, test, vi } from "vitest";
import { log } from "../../src/shared/log.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const query = "insert into secrets values (?)";
const failed = new DrizzleQueryError(query, ["hunter2"], new Error("D1_ERROR: no such table"));

test.each([
  ["here", failed],
  ["in an object, which tells of it over RPC", new Error(failed.message, { cause: failed.cause })],
])("a query that failed %s is logged with its cause and without what it was given", (_, cause) => {
  const print = vi.spyOn(console, "error").mockReturnValue();
  log.error("failed", new Error("outer", { cause }));
  const [line] = print.mock.calls.flat();
  expect(line).toContain(query);
  expect(line).toContain("no such table");
  expect(line).not.toContain("hunter2");
});
