import { spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { readFile } from "node:fs/promises";

const SHOWN_LINES = 40;
/** Vitest's line of a file that has ended. */
const FILE_ENDED = /^ *[✓×❯] .*\.test\.ts /;

/** Runs a command with its output in a file. Prints lines of ended test files. Returns the exit code. */
export async function runCommand(
  command: string,
  args: readonly string[],
  log: string,
): Promise<number> {
  const file = createWriteStream(log, { flags: "a" });
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    let rest = "";
    stream.on("data", (text: string) => {
      file.write(text);
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (FILE_ENDED.test(line)) console.log(line);
    });
  }
  const code = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (exit) => resolve(exit ?? 1));
  });
  await new Promise<void>((resolve) => file.end(() => resolve()));
  return code;
}

/** Returns the last lines of a log that have text. */
export async function lastLines(log: string): Promise<string[]> {
  const lines = (await readFile(log, "utf8")).split("\n");
  return lines.filter((line) => line.trim() !== "").slice(-SHOWN_LINES);
}
