import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { request } from "./support/http.ts";
import { pushRepository } from "./support/repositories.ts";
import { killWorker, stack, until } from "./support/stack.ts";

test("local.json has the addresses of the stack", async () => {
  const written = JSON.parse(await readFile(join(stack.dir, "local.json"), "utf8"));
  expect(written.base_url).toBe(stack.base_url);
  expect(written.git).toEqual(stack.git);
});

test("only the user of the stack reads its keys and passwords", async () => {
  for (const name of ["kept.json", "local.json"]) {
    expect((await stat(join(stack.dir, name))).mode & 0o777).toBe(0o600);
  }
});

test("the git host refuses a push without the password", async () => {
  const url = `${stack.git.url}/examples/echo.git/info/refs?service=git-receive-pack`;
  const answer = (headers = {}) => fetch(url, { headers }).then(({ status }) => status);
  expect(await answer()).toBe(401);
  expect(await answer({ authorization: `Basic ${btoa("heddle:git-token")}` })).toBe(401);
  const { username, password } = new URL(stack.git.push_url);
  expect(await answer({ authorization: `Basic ${btoa(`${username}:${password}`)}` })).toBe(200);
});

test("the Worker comes back by itself after SIGKILL", async () => {
  expect((await request("GET", "/ok")).body).toEqual({ ok: true });
  await killWorker();
  const { body } = await until(
    "The Worker's return",
    () => request("GET", "/ok").catch(() => ({ status: 0, body: null })),
    ({ status }) => status === 200,
  );
  expect(body).toEqual({ ok: true });
});

test("each example is a repository with a commit on main", async () => {
  for (const name of ["chat", "echo"]) {
    const response = await fetch(`${stack.git.url}/repos/examples/${name}/commits/main`);
    expect(response.status).toBe(200);
  }
});

test("a pushed repository is served by branch", async () => {
  const url = await pushRepository("pushed", { "langgraph.json": "{}", "src/agent.ts": "" });
  expect(url).toBe(`${stack.git.url}/tests/pushed.git`);
  const response = await fetch(`${stack.git.url}/repos/tests/pushed/tarball/main`);
  expect(response.headers.get("content-type")).toBe("application/x-gzip");
  await response.body?.cancel();
});
