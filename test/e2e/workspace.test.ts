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

test("keys and members are managed, with effect on a running stack", async () => {
  const scope = ["--org", "operated", "--name", "research"];
  const made = await workspace(["create", "--plan", "plus", ...scope]);
  expect(made.code).toBe(0);
  const status = async (key: string, headers = {}) => {
    const url = `${stack.base_url}/v2/deployments`;
    return (await fetch(url, { headers: { "X-Api-Key": key, ...headers } })).status;
  };
  const keyOf = ({ out }: Ended) => /lsv2_sk_[A-Za-z0-9]{40}\n/.exec(out)?.[0].trim() ?? "";
  const tenant = /[0-9a-f-]{36}$/m.exec(made.out.split("\n")[1] ?? "")?.[0] ?? "";
  const wide = await workspace(["create-key", "--org", "operated", "--role", "viewer"]);
  const inOurs = { "X-Tenant-Id": tenant };
  expect(await status(keyOf(wide), inOurs)).toBe(200);
  const listed = await workspace(["keys", "--org", "operated"]);
  expect(listed.out).toContain("(all)");
  expect(listed.out).not.toContain(keyOf(wide).slice(13));
  const id = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(wide.out)?.[0] ?? "";
  expect((await workspace(["revoke-key", "--id", id])).code).toBe(0);
  await expect.poll(() => status(keyOf(wide), inOurs)).toBe(401);
  const member = [...scope, "--email", "Ada@acme.test"];
  const added = await workspace(["add-member", ...member, "--role", "editor"]);
  expect(added).toMatchObject({ code: 0, out: expect.stringContaining("ada@acme.test") });
  const admin = ["org-admin", "--org", "operated", "--email", "ada@acme.test"];
  expect((await workspace(admin)).out).toContain("admin");
  expect((await workspace([...admin, "--revoke"])).out).toContain("user");
  expect((await workspace(["members", ...scope])).out).toContain("editor");
  expect((await workspace(["remove-member", ...member])).code).toBe(0);
  expect((await workspace(["members", ...scope])).out).toContain("None.");
});

test("a quota of the operator is set, listed and removed", async () => {
  const scope = ["--org", "limited", "--name", "research"];
  expect((await workspace(["create", "--plan", "plus", ...scope])).code).toBe(0);
  const meter = ["--meter", "runs_created", "--period", "day"];
  for (const limit of ["5", "7"]) {
    const set = await workspace(["set-quota", ...scope, ...meter, "--limit", limit]);
    expect(set).toMatchObject({ code: 0, out: expect.stringContaining(limit) });
  }
  expect((await workspace(["quotas", ...scope])).out).toMatch(/runs_created.*day.*7.*operator/);
  expect((await workspace(["set-quota", ...scope, ...meter, "--limit", "none"])).code).toBe(0);
  expect((await workspace(["quotas", ...scope])).out).toContain("None.");
  const unknown = ["set-quota", "--org", "limited", "--name", "none", ...meter, "--limit", "1"];
  expect((await workspace(unknown)).err).toContain("Not found");
});

test("a workspace waits for another writer of the database", async () => {
  const folder = join(stack.dir, "state/v3/d1/miniflare-D1DatabaseObject");
  const [name = ""] = (await readdir(folder)).filter((file) => /^[0-9a-f]{64}\.sqlite$/.test(file));
  const database = new DatabaseSync(join(folder, name), { timeout: 5000 });
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
  [[], "Command required"],
  [["constructor"], "Command required"],
  [["create-key", "--org", "a"], "--role is missing"],
  [["create-key", "--org", "a", "--role", "viewer"], "Not found"],
  [["revoke-key", "--id", "none"], "Not found"],
  [["create", "--plan", "plus", "--name", "n"], "--org is missing"],
  [["create", "--org", "a", "--plan", "gold", "--name", "n"], '--plan is "gold"'],
  [[...ACME, "--role", "owner"], '--role is "owner"'],
  [["set-quota", "--org", "a", "--name", "n", "--meter", "runs"], '--meter is "runs"'],
  [[...ACME, "--env", "mars"], '--env is "mars"'],
  [[...ACME, "--remote"], "--remote needs --env"],
  [[...ACME, "--colour"], "Unknown option '--colour'"],
])("%j is refused with its reason", async (args, text) => {
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
