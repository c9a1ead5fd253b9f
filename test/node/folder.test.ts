// Claims of a folder, by processes that start at the same moment.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, test } from "vitest";
import { claim, holderOf } from "../../local/folder.ts";

const PROCESSES = 6;

let dir: string;
const children: ChildProcess[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "heddle-folder-"));
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await rm(dir, { recursive: true, force: true });
});

/** Returns what each process printed. */
async function claimAtOnce(): Promise<string[]> {
  const started = await Promise.all(Array.from({ length: PROCESSES }, startClaimer));
  return Promise.all(started.map((claimIt) => claimIt()));
}

async function startClaimer(): Promise<() => Promise<string>> {
  const child = spawn(process.execPath, ["test/support/node/claim.ts", dir], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  const lines = createInterface({ input: child.stdout });
  await once(lines, "line");
  return async () => {
    child.stdin.write("claim\n");
    return String((await once(lines, "line"))[0]);
  };
}

const LEFT = {
  nothing: null,
  "the claim of a killed process": "1 0 of an earlier boot",
};

test.each(Object.entries(LEFT))(
  "one of many processes claims a folder with %s",
  async (_, left) => {
    if (left !== null) await writeFile(join(dir, "stack.pid"), left);
    const results = await claimAtOnce();
    expect(results.filter((result) => result === "held")).toHaveLength(1);
    const others = results.filter((result) => result !== "held");
    expect(others).toEqual(others.map(() => expect.stringMatching(/^Process \d+ already runs/)));
    expect(await readdir(dir)).toEqual(["stack.pid"]);
  },
);

test("a released folder can be claimed, and a claim is that of its process", async () => {
  const release = await claim(dir);
  expect(await holderOf(dir)).toBe(process.pid);
  expect((await readFile(join(dir, "stack.pid"), "utf8")).startsWith(`${process.pid} `)).toBe(true);
  await release();
  expect(await holderOf(dir)).toBeNull();
  expect(await readdir(dir)).toEqual([]);
});

test("a process claims a folder once", async () => {
  const release = await claim(dir);
  await expect(claim(dir)).rejects.toThrow(`Process ${process.pid} already runs a stack`);
  expect(await holderOf(dir)).toBe(process.pid);
  await release();
});
