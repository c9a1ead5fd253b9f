import { afterEach, expect, test, vi } from "vitest";
import { fetchByGit } from "../../src/builds/git.ts";
import { toRepository } from "../../src/builds/hosts.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const answers: [string, () => Promise<Response>][] = [
  ["a page for every address", async () => new Response("<html>hello</html>")],
  ["nothing", async () => new Response("")],
  ["an error", async () => new Response("no", { status: 500 })],
  ["no connection", () => Promise.reject(new TypeError("refused"))],
];

test.each(answers)("a host that answers git with %s is source_unavailable", async (_, answer) => {
  vi.spyOn(globalThis, "fetch").mockImplementation(answer);
  const repository = toRepository("https://pages.test/acme/chat");
  const fetched = fetchByGit({ allow_private: true }, repository, "main", null);
  await expect(fetched).rejects.toMatchObject({
    name: "BuildFailure",
    reason: "source_unavailable",
    message: expect.stringContaining("pages.test"),
  });
});
