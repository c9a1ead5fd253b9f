import { beforeEach, test } from "vitest";
import { browserProblem } from "./browser.ts";
import { describePages } from "./page-states.ts";

/** Skips tests of pages on a machine without a browser. */
export const browserTest = test.skipIf(browserProblem() !== null);

// A failed wait alone does not show what its page had instead.
beforeEach(({ onTestFailed }) => {
  onTestFailed(async ({ task }) => {
    for (const text of await describePages()) {
      task.result?.errors?.push({ name: "Page", message: text, stack: text });
    }
  });
});
