import { test } from "vitest";
import { browserProblem } from "./browser.ts";

/** Skips tests of pages where there is no browser. */
export const browserTest = test.skipIf(browserProblem() !== null);
