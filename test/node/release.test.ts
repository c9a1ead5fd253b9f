// Releases of a service of a few lines: the commands know of it that it starts by `npm start`, claims its folder and
// answers.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../local/processes/ports.ts";
import { kill } from "../../local/processes/processes.ts";
import type { Unit } from "../support/node/restart-unit.ts";

type Ended = { code: number; output: string };

const run = promisify(execFile);
/** For a start that must fail; one that succeeds must be faster on a slow machine, too. */
const WAIT_SECONDS = "15";
const TEST_MS = 180_000;

const SERVICE = `
import { createServer } from "node:http";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { identify } from "./processes.ts";
const { PORT, HEDDLE_DIR } = process.env;
const { version, fails } = JSON.parse(readFileSync("behaviour.json", "utf8"));
if (fails === "always" || (fails === "here" && PORT !== "0")) throw new Error("a broken release");
writeFileSync(HEDDLE_DIR + "/stack.pid", await identify(process.pid));
const server = createServer((request, response) => response.end(version));
server.listen(Number(PORT), "127.0.0.1", () => {
  const base_url = "http://127.0.0.1:" + server.address().port;
  writeFileSync(HEDDLE_DIR + "/draft", JSON.stringify({ base_url }));
  renameSync(HEDDLE_DIR + "/draft", HEDDLE_DIR + "/local.json");
});
`;

let home: string;
let root: string;
let source: string;
let port: number;
let unit: Unit;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "heddle-release-"));
  [root, source] = [join(home, "opt"), join(home, "source")];
  port = await freePort();
  await mkdir(join(home, "data"));
  await mkdir(source);
  const start = { name: "tiny", version: "1.0.0", scripts: { start: "exec node start.ts" } };
  const lock = { name: "tiny", version: "1.0.0", lockfileVersion: 3, packages: { "": start } };
  await writeFile(join(source, "package.json"), JSON.stringify(start));
  await writeFile(join(source, "package-lock.json"), JSON.stringify(lock));
  await writeFile(join(source, "start.ts"), SERVICE);
  await cp("local/processes/processes.ts", join(source, "processes.ts"));
  await git("init", "--quiet", "--initial-branch=main");
  unit = {
    folder: join(root, "current"),
    command: [process.execPath, "start.ts"],
    env: { PORT: String(port), HEDDLE_DIR: join(home, "data") },
    pid_file: join(home, "service.pid"),
    log: join(home, "service.log"),
  };
  await writeFile(join(home, "unit.json"), JSON.stringify(unit));
});
afterAll(async () => {
  if (existsSync(unit.pid_file)) {
    kill(Number.parseInt(await readFile(unit.pid_file, "utf8"), 10), "SIGKILL");
  }
  await rm(home, { recursive: true, force: true });
});

async function git(...args: string[]): Promise<string> {
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
  return (await run("git", ["-C", source, ...identity, ...args])).stdout.trim();
}

/** Commits a version of the service. Returns the name of its folder. */
async function commit(version: string, fails = "never"): Promise<string> {
  await writeFile(join(source, "behaviour.json"), JSON.stringify({ version, fails }));
  await git("add", "-A");
  await git("commit", "--quiet", "-m", `Version ${version}`);
  return (await git("rev-parse", "HEAD")).slice(0, 12);
}

async function release(...args: string[]): Promise<Ended> {
  const restart = `${process.execPath} test/support/node/restart-unit.ts ${join(home, "unit.json")}`;
  const options = ["--root", root, "--from", source, "--restart", restart, "--wait", WAIT_SECONDS];
  const command = ["scripts/release.ts", ...options, ...args];
  const env = { ...process.env, ...unit.env };
  const ended = await run(process.execPath, command, { env }).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    (error) => ({ code: Number(error.code), output: `${error.stdout}${error.stderr}` }),
  );
  return ended;
}

const runningVersion = async () => (await fetch(`http://127.0.0.1:${port}/`)).text();
const succeeded = (output: RegExp) => ({ code: 0, output: expect.stringMatching(output) });
const failed = (output: RegExp) => ({ code: 1, output: expect.stringMatching(output) });

test(
  "releases are installed beside the running one, switched to and rolled back",
  async () => {
    const one = await commit("one");
    expect(await release("install")).toEqual(succeeded(new RegExp(`Installed ${one}`)));
    expect(await release("switch")).toEqual(succeeded(/is the current release/));
    expect(await runningVersion()).toBe("one");

    const two = await commit("two");
    expect(await release("install", "main")).toEqual(succeeded(new RegExp(`Installed ${two}`)));
    expect(await release("install", two)).toEqual(succeeded(/is installed already/));
    expect(await runningVersion()).toBe("one");
    let missing = 0;
    const timer = setInterval(() => {
      if (!existsSync(join(root, "current/start.ts"))) missing += 1;
    }, 1);
    expect(await release("switch", two.slice(0, 7))).toEqual(succeeded(/is the current release/));
    clearInterval(timer);
    expect(missing).toBe(0);
    expect(await runningVersion()).toBe("two");

    expect(await release("rollback")).toEqual(succeeded(new RegExp(`${one} is the current`)));
    expect(await runningVersion()).toBe("one");
    expect(await release("rollback")).toEqual(succeeded(new RegExp(`${two} is the current`)));
    const { output } = await release("list");
    expect(output).toMatch(new RegExp(`${two} .* current .* Version two\n${one} .* previous`));
  },
  TEST_MS,
);

test(
  "a release that does not start is not installed",
  async () => {
    const broken = await commit("broken", "always");
    expect(await release("install")).toEqual(failed(/does not start:.*a broken release/s));
    expect(existsSync(join(root, "releases", broken))).toBe(false);
    expect(await release("switch", broken)).toEqual(failed(/is not installed\. Installed: /));
    expect(await runningVersion()).toBe("two");
  },
  TEST_MS,
);

test(
  "a release that does not run with the data of this machine is rolled back",
  async () => {
    const unfit = await commit("unfit", "here");
    expect(await release("install")).toEqual(succeeded(/Installed/));
    const ended = await release("switch", unfit);
    expect(ended).toEqual(failed(/did not answer in 15 s\. Returning to .*runs again/s));
    expect(await runningVersion()).toBe("two");
    expect((await release("list")).output).toMatch(/ current .* Version two/);
  },
  TEST_MS,
);

test(
  "a restart command that changes nothing is noticed",
  async () => {
    const ended = await release("--restart", "true", "--wait", "2", "rollback");
    expect(ended).toEqual(failed(/did not answer in 2 s/));
    expect(await runningVersion()).toBe("two");
  },
  TEST_MS,
);

test(
  "old releases are deleted, but not the current and the previous one",
  async () => {
    const last = await commit("last");
    const { output } = await release("--keep", "1", "install");
    expect(output.match(/^Deleted /gm)).toHaveLength(1);
    const listed = (await release("list")).output;
    expect(listed).toMatch(new RegExp(`^${last}`));
    expect(listed).toMatch(/ current .* Version two\n.* previous .* Version one\n$/);
  },
  TEST_MS,
);

test.each([
  [["install", "nothing"], /no branch, tag or commit "nothing"/],
  [["install", "--", "--upload-pack=x"], /is not a branch, tag or commit/],
  [["swap"], /Give a command/],
  [["--keep", "0", "install"], /--keep is "0"; give a whole number from 1 to 100/],
  [["--root", "/", "list"], /--root must not be the root folder/],
])("release %s is refused", async (args, message) => {
  expect(await release(...args)).toEqual(failed(message));
});
