import { afterEach, expect, test, vi } from "vitest";
import { fetchByGit } from "../../../src/control-plane/builds/source/git.ts";
import { toRepository } from "../../../src/control-plane/builds/source/hosts.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const answers: [string, () => Promise<Response>][] = [
  ["a page for every address", async () => new Response("<html>hello</html>")],
  ["nothing", async () => new Response("")],
  ["an error", async () => new Response("no", { status: 500 })],
  ["no connection", () => Promise.reject(new TypeError("refused"))],
];

test("a host that leads to a private address is source_unsafe, and is not tried again", async () => {
  const location = "https://169.254.169.254/";
  const fetches = vi
    .spyOn(globalThis, "fetch")
    .mockImplementation(async () => new Response(null, { status: 302, headers: { location } }));
  const repository = toRepository("https://git.example.com/acme/chat");
  const fetched = fetchByGit({ allow_private: false }, repository, "main", null);
  await expect(fetched).rejects.toMatchObject({ reason: "source_unsafe" });
  expect(fetches).toHaveBeenCalledTimes(1);
});

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
