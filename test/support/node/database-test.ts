import { test } from "vitest";
import { databaseProblem } from "./databases.ts";

/** Skips tests of databases on a machine without them. */
export const databaseTest = test.skipIf(databaseProblem() !== null);
