import { test } from "vitest";
import { browserProblem } from "./browser.ts";

/** Skips tests of pages on a machine without a browser. */
export const browserTest = test.skipIf(browserProblem() !== null);
