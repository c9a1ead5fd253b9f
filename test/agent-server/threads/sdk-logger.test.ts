import "../../../src/isolate/globals/sdk-logger.ts";
import { getLogger } from "@langchain/langgraph-sdk/logging";
import { afterEach, expect, test, vi } from "vitest";

afterEach(() => void vi.restoreAllMocks());

test.each([
  ["error", "error"],
  ["warn", "warn"],
  ["info", "info"],
  ["http", "info"],
  ["verbose", "debug"],
] as const)("%s of the SDK's logger is %s in the agent's log", (name, level) => {
  const print = vi.spyOn(console, level).mockReturnValue();
  const logger = getLogger();
  expect(logger[name]("looked up", { rows: 3 })).toBe(logger);
  expect(print).toHaveBeenCalledExactlyOnceWith("looked up", { rows: 3 });
});
