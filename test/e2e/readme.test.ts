// The quick start of README.md, as a reader pastes it into one shell.
import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stack } from "./support/stack.ts";
import { createWorkspace } from "./support/workspaces.ts";

const run = promisify(execFile);
const canRun = ["jq", "curl"].every((tool) => spawnSync(tool, ["--version"]).status === 0);
const NAMED = ["ID", "PROJECT_ID", "DESTINATION", "EXPORT"];

let home: string;
let headers: Record<string, string>;

beforeAll(async () => {
  headers = await createWorkspace();
  home = await mkdtemp(join(tmpdir(), "heddle-readme-"));
  await mkdir(join(home, "heddle/.heddle"), { recursive: true });
  const info = { ...stack, api_key: headers["x-api-key"], tenant_id: headers["x-tenant-id"] };
  await writeFile(join(home, "heddle/.heddle/local.json"), JSON.stringify(info));
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** The shell blocks below "Quick start", without the first one, which starts the stack. */
async function readBlocks(): Promise<string[]> {
  const text = await readFile("README.md", "utf8");
  const part = text.split("\n## ").find((each) => each.startsWith("Quick start")) ?? "";
  return [...part.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = ""]) => block).slice(1);
}

const lastCommand = (block: string) => block.slice(block.lastIndexOf("\ncurl") + 1);

test.skipIf(!canRun)(
  "the commands of README.md run unchanged, which needs jq and curl",
  async () => {
    const [read, write, deploy = "", send = "", send_export, show = ""] = await readBlocks();
    const [status] = show.split("\n");
    const script = [
      ...["set -euo pipefail", read, write, deploy],
      `until [ "$(${lastCommand(deploy).trim()})" = DEPLOYED ]; do sleep 0.5; done`,
      ...[send, lastCommand(send), send_export],
      `until [ "$(${status})" = COMPLETED ]; do sleep 0.5; done`,
      ...["echo", show],
      ...NAMED.map((name) => `echo; echo "${name}=$${name}"`),
    ].join("\n");
    const { stdout } = await run("bash", ["-c", script], {
      cwd: join(home, "heddle"),
      env: {
        ...process.env,
        ...{ GIT_AUTHOR_NAME: "Test", GIT_AUTHOR_EMAIL: "test@heddle.invalid" },
        ...{ GIT_COMMITTER_NAME: "Test", GIT_COMMITTER_EMAIL: "test@heddle.invalid" },
      },
      timeout: 240_000,
    });
    expect(stdout.match(/Message \d: HELLO/g)).toEqual(["Message 1: HELLO", "Message 3: HELLO"]);
    for (const name of NAMED) expect(stdout).toMatch(new RegExp(`^${name}=[0-9a-f-]{36}$`, "m"));
    expect(stdout).toMatch(/^COMPLETED$/m);
  },
);
