// Skips a step of a start or a build while everything that decided its last result is unchanged.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { writeWhole } from "../local/folder.ts";

export type MemoStep<T> = {
  /**
   * Path of the file that keeps the result. That of a stack is in its folder `bundle`. A backup leaves this folder out,
   * so a restored stack runs each step.
   */
  file: string;
  /** Decides the result beside the files. Only its hash is kept: it may have secrets. */
  values: unknown;
  /** Files that must exist for the step to be skipped. */
  outputs: string[];
  /** `inputs`: files that decided the result, also those that do not exist. */
  run(): Promise<{ result: T; inputs: string[] }>;
};

type Memo<T> = { values: string; inputs: Record<string, string>; result: T };

/** Time by which the clock of a file system may be behind that of the system. */
const CLOCK_MS = 20;

/** Returns the result of the last run if nothing has changed since. */
export async function runUnlessCurrent<T>({ file, values, outputs, run }: MemoStep<T>): Promise<T> {
  const hash = createHash("sha256").update(JSON.stringify(values)).digest("hex");
  const last = readMemo<T>(file);
  if (last?.values === hash && areSame(last.inputs) && outputs.every((path) => existsSync(path)))
    return last.result;
  // A run that fails or is killed leaves no memo.
  await mkdir(dirname(file), { recursive: true });
  await rm(file, { force: true });
  const started = Date.now() - CLOCK_MS;
  const { result, inputs } = await run();
  const stamps = inputs.map((path) => [path, stampOf(path)] as const);
  // The run may have read an earlier content of a file that changed during it.
  if (stamps.every(([path]) => changedAt(path) < started)) {
    const memo: Memo<T> = { values: hash, inputs: Object.fromEntries(stamps), result };
    await writeWhole(file, JSON.stringify(memo));
  }
  return result;
}

function readMemo<T>(file: string): Memo<T> | null {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Memo<T>;
  } catch {
    return null;
  }
}

function areSame(inputs: Record<string, string>): boolean {
  return Object.entries(inputs).every(([path, stamp]) => stampOf(path) === stamp);
}

/** Size and time instead of the content: a thousand files are compared within milliseconds. */
function stampOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? "missing" : `${stat.size} ${stat.mtimeMs}`;
}

function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
