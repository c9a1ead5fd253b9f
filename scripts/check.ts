// `npm run check`: what a commit must pass: advisories, types, lint, every test, the demo, the rules of the API, and a
// fixed list of requests to every operation. The output ends with the failures; the outputs of the parts are in
// .heddle/check.
//
// --only <part>  one part; may be repeated
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { lastLines, runCommand } from "./check/command.ts";
import { detailsOf, type Outcome, summarize } from "./check/outcome.ts";
import { runTests } from "./check/tests.ts";
import { readOptions } from "./options.ts";

type Part = { name: string; run(log: string): Promise<Outcome> };

const FUZZ = ["--seed", "1", "--rounds", "4"];

/**
 * Number of processes that share the unit tests. A workerd of the tests keeps the isolates of each file that it ran.
 * All heaps of a process share 4 GB, and with all files in two processes each needed more.
 */
const UNIT_SHARDS = 6;

/** Parts of a stage run beside each other: one computes while the other waits. */
const STAGES: Part[][] = [
  [npm("advisories"), npm("static"), npm("python-env")],
  [tests("node", "node")],
  [tests("unit", "workerd", UNIT_SHARDS), tests("s3", "s3")],
  [tests("e2e", "e2e")],
  [npm("demo"), npm("lint:api"), npm("fuzz", ...FUZZ)],
];

/** Parts whose failures end the check after their stage. */
const EARLY = ["static", "node"];

const { values } = readOptions({ only: { type: "string", multiple: true } });
const only = values.only ?? [];
const names = STAGES.flat().map(({ name }) => name);
const unknown = only.find((name) => !names.includes(name));
if (unknown !== undefined) {
  console.error(`Unknown part "${unknown}"; the parts are ${names.join(", ")}`);
  process.exit(1);
}
const dir = join(process.env.HEDDLE_DIR ?? ".heddle", "check");
await rm(dir, { recursive: true, force: true });
await mkdir(dir, { recursive: true });

const results = [];
for (const stage of STAGES) {
  const parts = stage.filter(({ name }) => only.length === 0 || only.includes(name));
  results.push(...(await Promise.all(parts.map(runPart))));
  // A long test run of code that breaks the static checks or the tests of `node` would waste time.
  if (results.some(({ name, failures }) => EARLY.includes(name) && failures.length > 0)) break;
}
const { is_passed, text } = summarize(results);
console.log(`\n${text}`);
process.exitCode = is_passed ? 0 : 1;

async function runPart({ name, run }: Part) {
  const log = join(dir, `${name.replace(":", "-")}.log`);
  console.log(`${name}: started, ${log}*`);
  const started = performance.now();
  const outcome = await run(log);
  const seconds = Math.round((performance.now() - started) / 1000);
  for (const failure of [...outcome.flaky, ...outcome.failures]) console.log(detailsOf(failure));
  console.log(`${name}: ${outcome.failures.length === 0 ? "passed" : "FAILED"} in ${seconds} s`);
  return { name, seconds, ...outcome };
}

function tests(name: string, project: string, shards?: number): Part {
  return { name, run: (log) => runTests(project, log, shards) };
}

/** Returns the part that runs an npm script, which passes with exit code 0. */
function npm(name: string, ...args: string[]): Part {
  return {
    name,
    async run(log) {
      const code = await runCommand("npm", ["run", "--silent", name, "--", ...args], log);
      if (code === 0) return { passed: 0, failures: [], flaky: [] };
      const lines = await lastLines(log);
      console.log([`${name}: the end of its output`, ...lines].join("\n"));
      const error = lines.at(-1) ?? `exit code ${code}`;
      return { passed: 0, failures: [{ file: log, test: "", error }], flaky: [] };
    },
  };
}
