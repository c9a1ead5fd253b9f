import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { stack } from "./support/stack.ts";

type Ended = { code: number; out: string; err: string };

function workspace(args: string[], dir = stack.dir): Promise<Ended> {
  const command = ["scripts/workspace.ts", ...args];
  const env = { ...process.env, HEDDLE_DIR: dir };
  return new Promise((resolve) => {
    execFile(process.execPath, command, { env }, (error, out, err) => {
      resolve({ code: Number(error?.code ?? 0), out, err });
    });
  });
}

const ACME = ["create", "--org", "acme's", "--plan", "plus", "--name", "research"];

test("a workspace is made beside a running stack, and found again by its names", async () => {
  const first = await workspace(ACME);
  const second = await workspace([...ACME, "--role", "viewer"]);
  const ids = (text: string) => text.match(/[0-9a-f-]{36}/g);
  expect([first.code, second.code]).toEqual([0, 0]);
  expect(ids(first.out)).toHaveLength(2);
  expect(ids(second.out)).toEqual(ids(first.out));
  expect(first.out).toMatch(/lsv2_sk_[A-Za-z0-9]{40}\n/);
});

test("a workspace waits for whoever writes to the database", async () => {
  const folder = join(stack.dir, "state/v3/d1/miniflare-D1DatabaseObject");
  const [name = ""] = (await readdir(folder)).filter((file) => /^[0-9a-f]{64}\.sqlite$/.test(file));
  const database = new DatabaseSync(join(folder, name));
  database.exec("BEGIN IMMEDIATE");
  const made = workspace(["create", "--org", "patient", "--plan", "plus", "--name", "research"]);
  setTimeout(() => database.close(), 2000);
  expect(await made).toMatchObject({ code: 0 });
});

test("the stack has a first workspace and a key", () => {
  expect(stack.api_key).toMatch(/^lsv2_sk_[A-Za-z0-9]{40}$/);
  expect(stack.tenant_id).toMatch(/^[0-9a-f-]{36}$/);
});

test.each([
  [[], "create is the only command"],
  [["create", "--plan", "plus", "--name", "n"], "--org is missing"],
  [["create", "--org", "a", "--plan", "gold", "--name", "n"], '--plan is "gold"'],
  [[...ACME, "--role", "owner"], '--role is "owner"'],
  [[...ACME, "--env", "mars"], '--env is "mars"'],
  [[...ACME, "--remote"], "--remote needs --env"],
  [[...ACME, "--colour"], "Unknown option '--colour'"],
])("%j is refused with words that say what is wrong", async (args, text) => {
  const { code, err } = await workspace(args);
  expect(code).toBe(1);
  expect(err).toContain(text);
});

test("a database without tables is named as such", async () => {
  const dir = await mkdtemp(join(tmpdir(), "heddle-"));
  const { code, err } = await workspace(ACME, dir);
  await rm(dir, { recursive: true });
  expect(code).toBe(1);
  expect(err).toContain("has no tables yet");
});
