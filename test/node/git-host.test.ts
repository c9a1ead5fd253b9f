// The git host is on a port that every program of the machine reaches: finding 4 of the security review.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type GitHost, startGitHost } from "../../local/git/git-host.ts";
import { commitFolder, publishExamples } from "../../local/git/repositories.ts";

const run = promisify(execFile);
const PASSWORD = "a-password";
const EXAMPLE = "examples/echo.git";
/** The tests match texts of git, so they need its untranslated ones. */
const ENV = {
  ...process.env,
  ...{ LC_ALL: "C", GIT_TERMINAL_PROMPT: "0", GIT_CONFIG_GLOBAL: "/dev/null" },
};

let folder: string;
let clone: string;
let host: GitHost;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-git-host-"));
  const [root, source] = [join(folder, "root"), join(folder, "source")];
  clone = join(folder, "clone");
  await mkdir(join(root, "examples"), { recursive: true });
  await mkdir(source);
  await writeFile(join(source, "langgraph.json"), "{}");
  await commitFolder(source, join(root, EXAMPLE));
  host = await startGitHost({ root, tokens: [PASSWORD] });
  await run("git", ["clone", "--quiet", `${host.url}/${EXAMPLE}`, clone], { env: ENV });
  const author = ["-c", "user.name=Test", "-c", "user.email=test@heddle.invalid"];
  const commit = ["commit", "--quiet", "--allow-empty", "--message", "Changed"];
  await run("git", ["-C", clone, ...author, ...commit]);
});

afterAll(async () => {
  await host.close();
  await rm(folder, { recursive: true, force: true });
});

function push(base: string, path: string) {
  return run("git", ["-C", clone, "push", "--quiet", `${base}/${path}`, "HEAD:refs/heads/pushed"], {
    env: ENV,
  });
}

async function branchesOf(path: string): Promise<string> {
  return (await run("git", ["ls-remote", "--heads", `${host.url}/${path}`], { env: ENV })).stdout;
}

function withPassword(password: string): string {
  return host.url.replace("://", `://heddle:${password}@`);
}

test.each([
  ["no password", () => host.url],
  ["an empty password", () => withPassword("")],
  ["a wrong password", () => withPassword("git-token")],
])("a push with %s is refused and changes nothing", async (_, base) => {
  const before = await branchesOf(EXAMPLE);
  await expect(push(base(), EXAMPLE)).rejects.toThrow(/could not read|Authentication failed/);
  expect(await branchesOf(EXAMPLE)).toBe(before);
  await expect(push(base(), "examples/made.git")).rejects.toThrow();
  await expect(stat(join(folder, "root/examples/made.git"))).rejects.toThrow("ENOENT");
});

test.each([
  ["GET", "info/refs?service=git-receive-pack"],
  ["GET", "info/refs?service=git-upload-pack&service=git-receive-pack"],
  ["GET", "info/refs?service=git%2Dreceive%2Dpack"],
  ["GET", "%69nfo/refs?service=git-receive-pack"],
  ["POST", "git-receive-pack"],
  ["POST", "git%2Dreceive%2Dpack"],
])("%s %s without a password does not start a push", async (method, path) => {
  const type = "application/x-git-receive-pack-request";
  const response = await fetch(`${host.url}/${EXAMPLE}/${path}`, {
    method,
    headers: { "content-type": type },
    ...(method === "POST" ? { body: "0000" } : {}),
  });
  expect([401, 403]).toContain(response.status);
  await response.body?.cancel();
});

test("a path outside the host's folder is not found, even with the password", async () => {
  const authorization = `Basic ${btoa(`heddle:${PASSWORD}`)}`;
  const url = `${host.url}/..%2Fescaped/info/refs?service=git-receive-pack`;
  const response = await fetch(url, { headers: { authorization } });
  expect(response.status).toBe(404);
  await expect(stat(join(folder, "escaped.git"))).rejects.toThrow("ENOENT");
});

test("a push with the password works", async () => {
  await push(withPassword(PASSWORD), "tests/with-password.git");
  expect(await branchesOf("tests/with-password.git")).toContain("refs/heads/pushed");
});

test("a path of an archive is a commit, never an option of git", async () => {
  const tarball = await fetch(`${host.url}/repos/examples/echo/tarball/main`, {
    redirect: "manual",
  });
  const { pathname, search } = new URL(tarball.headers.get("location") ?? "");
  const canary = join(folder, "canary.txt");
  await writeFile(canary, "untouched");
  for (const option of [`--output=${canary}`, `--remote=${folder}`, "-o", "main"]) {
    const path = pathname.replace(/[^/]+$/, () => encodeURIComponent(option));
    const { status } = await fetch(`${host.url}${path}${search}`);
    expect([option, status]).toEqual([option, 404]);
    const commits = await fetch(
      `${host.url}/repos/examples/echo/commits/${encodeURIComponent(option)}`,
    );
    expect(commits.status).toBe(option === "main" ? 200 : 422);
  }
  expect(await readFile(canary, "utf8")).toBe("untouched");
  const archive = await fetch(`${host.url}${pathname}${search}`);
  expect((await archive.arrayBuffer()).byteLength).toBeGreaterThan(100);
});

test("a name of another site that resolves to this machine is refused", async () => {
  const { port } = new URL(host.url);
  const status = (name: string) =>
    new Promise((resolve, reject) => {
      const path = "/repos/examples/echo/commits/main";
      const headers = { host: `${name}:${port}` };
      request({ port, host: "127.0.0.1", path, headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .once("error", reject)
        .end();
    });
  expect(await status("rebound.test")).toBe(421);
  expect(await status("localhost")).toBe(200);
});

test("examples are published after a start that was killed while git held its locks", async () => {
  const [examples, root] = [join(folder, "examples"), join(folder, "published")];
  await mkdir(join(examples, "echo"), { recursive: true });
  await writeFile(join(examples, "echo/langgraph.json"), "{}");
  const publish = () => publishExamples(examples, root, join(folder, "memo.json"));
  await publish();
  const repository = join(root, "examples/echo.git");
  for (const lock of ["examples.index.lock", "refs/heads/main.lock"]) {
    await writeFile(join(repository, lock), "");
  }
  await writeFile(join(examples, "echo/langgraph.json"), '{"graphs":{}}');
  await publish();
  const { stdout } = await run("git", ["-C", repository, "rev-list", "--count", "main"]);
  expect(stdout.trim()).toBe("2");
});
