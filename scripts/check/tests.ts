// Runs Vitest. Files that fail run once more, alone: those that pass then are flaky.
import { readFile } from "node:fs/promises";
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { mapConcurrent } from "../../src/shared/work/chunks.ts";
import { lastLines, runCommand } from "./command.ts";
import type { Outcome, TestFailure } from "./outcome.ts";

/** The part of the JSON reporter's output that the check reads. */
type Report = { testResults: TestFile[] };
type TestFile = {
  name: string;
  status: "passed" | "failed";
  message: string;
  assertionResults: { fullName: string; status: string; failureMessages: string[] | null }[];
};

/** Vitest's paragraph about an error that no test has caught: its text, and the file that ran. */
const UNHANDLED =
  / Unhandled (?:Error|Exception|Rejection) [^\n]*\n([\s\S]*?)This error originated in "([^"]+)"/g;

const UNFINISHED = "The file did not finish: its process ended, or was ended.";
/** Lines about the end of a process, which no test reports. */
const PROCESS_END = /exited unexpectedly|terminated|crash|out of memory|fatal error|\bSIG[A-Z]+\b/i;
const MAX_PROCESS_LINES = 20;
/** Vitest processes at once: more than the cores of a small machine, because a test waits a quarter of its time. */
const LANES = 3;

/** `passed`: number of passed tests by file. */
type Attempt = { code: number; passed: Map<string, number>; failures: TestFailure[] };

/** `shards`: number of Vitest processes that share the files, each with one worker. `LANES` of them run at once. */
export async function runTests(project: string, log: string, shards = 1): Promise<Outcome> {
  const first = await attemptShards(project, shards, log);
  const passed = countTests(first.passed);
  if (first.code === 0) return { passed, failures: [], flaky: [] };
  const files = [...new Set(first.failures.map(({ file }) => file))];
  if (files.some((file) => !isTest(file))) return { passed, failures: first.failures, flaky: [] };
  console.log(`Again, alone: ${files.join(" ")}`);
  const alone = ["--maxWorkers", "1", ...files];
  const second = await attempt(project, alone, `${log}.again.json`, `${log}.again`);
  const failing = new Set(second.failures.map(({ file }) => file));
  return {
    passed: countTests(new Map([...first.passed, ...second.passed])),
    failures: second.failures,
    flaky: first.failures.filter(({ file }) => !failing.has(file)),
  };
}

async function attemptShards(project: string, shards: number, log: string): Promise<Attempt> {
  if (shards === 1) return attempt(project, [], `${log}.json`, log);
  const numbers = Array.from({ length: shards }, (_, n) => n + 1);
  const attempts = await mapConcurrent(numbers, LANES, (n) => {
    const options = [`--shard=${n}/${shards}`, "--maxWorkers", "1"];
    return attempt(project, options, `${log}.${n}.json`, `${log}.${n}`);
  });
  return {
    code: Math.max(...attempts.map(({ code }) => code)),
    passed: new Map(attempts.flatMap(({ passed }) => [...passed])),
    failures: attempts.flatMap(({ failures }) => failures),
  };
}

async function attempt(
  project: string,
  options: readonly string[],
  json: string,
  log: string,
): Promise<Attempt> {
  const args = [
    "run",
    ...["--project", project],
    ...["--reporter", "default", "--reporter", "json", `--outputFile.json=${json}`],
    ...options,
  ];
  const code = await runCommand("vitest", args, log);
  const report = await readReport(json);
  const failures = report.testResults.flatMap(failuresOf);
  if (failures.some(({ error }) => error === UNFINISHED)) await printProcessEnds(log);
  if (code !== 0) failures.push(...(await unhandledErrors(log)));
  // The failed files are unknown, so nothing can run again.
  if (code !== 0 && failures.length === 0) failures.push(await unknownFailure(log));
  return { code, passed: new Map(report.testResults.map(passedOf)), failures };
}

function countTests(passed: ReadonlyMap<string, number>): number {
  return [...passed.values()].reduce((sum, count) => sum + count, 0);
}

/** @returns an empty report when the run was aborted: Vitest writes it at the end. */
async function readReport(json: string): Promise<Report> {
  const text = await readFile(json, "utf8").catch(() => '{"testResults":[]}');
  return JSON.parse(text) as Report;
}

function failuresOf({ name, status, message, assertionResults }: TestFile) {
  const file = relative(process.cwd(), name);
  const failed = assertionResults.filter((test) => test.status === "failed");
  if (failed.length === 0 && status === "failed")
    return [{ file, test: "", error: message || UNFINISHED }];
  return failed.map(({ fullName, failureMessages }) => {
    return { file, test: fullName, error: (failureMessages ?? []).join("\n") };
  });
}

function passedOf({ name, assertionResults }: TestFile): [file: string, count: number] {
  return [name, assertionResults.filter(({ status }) => status === "passed").length];
}

async function printProcessEnds(log: string): Promise<void> {
  const text = stripVTControlCharacters(await readFile(log, "utf8"));
  const lines = text.split("\n").filter((line) => PROCESS_END.test(line));
  console.log(lines.slice(-MAX_PROCESS_LINES).join("\n"));
}

/** Reads unhandled errors from the log: the JSON reporter omits them. */
async function unhandledErrors(log: string): Promise<TestFailure[]> {
  const text = stripVTControlCharacters(await readFile(log, "utf8"));
  return [...text.matchAll(UNHANDLED)].map(([, error = "", file = ""]) => {
    return { file, test: "", error: `Unhandled: ${error}` };
  });
}

function isTest(file: string): boolean {
  return /\.test\.tsx?$/.test(file);
}

async function unknownFailure(log: string): Promise<TestFailure> {
  const error = "Vitest failed without a failed test: an unhandled error, or it was aborted.";
  console.log((await lastLines(log)).join("\n"));
  return { file: log, test: "", error };
}
