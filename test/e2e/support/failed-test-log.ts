// A failed test prints the end of the log of its stack. The folder of the stack is deleted at the end.
import { readFile } from "node:fs/promises";
import { beforeEach } from "vitest";
import { logOf } from "../../../local/worker.ts";
import { stack } from "./stack.ts";

const LINES = 80;

beforeEach(({ onTestFailed }) => {
  onTestFailed(async () => {
    const lines = (await readFile(logOf(stack.dir), "utf8")).trimEnd().split("\n");
    process.stderr.write(`${lines.slice(-LINES).join("\n")}\n`);
  });
});
