import { afterEach, expect, test, vi } from "vitest";
import { fetchCommit } from "../../../src/control-plane/builds/source/commit.ts";
import { toRepository } from "../../../src/control-plane/builds/source/hosts.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const REPOSITORY = toRepository("https://git.test/acme/chat");
const ARCHIVE = { kind: "gitea", url: "", headers: {} } as const;
const BARE = {
  repo_commit_sha: "c".repeat(40),
  repo_commit_message: null,
  repo_commit_authored_at: null,
};
const DATE = "2026-11-20T12:00:00+01:00";
const KNOWN = {
  ...BARE,
  repo_commit_message: "Ask first",
  repo_commit_authored_at: "2026-11-20T11:00:00.000000Z",
};
const MESSAGE = "Ask first\n\nRefunds above 100 EUR.";

test.each([
  ["GitHub", { commit: { message: MESSAGE, author: { date: DATE } } }, KNOWN],
  ["GitLab", { message: MESSAGE, authored_date: DATE }, KNOWN],
  ["Bitbucket", { message: MESSAGE, date: DATE }, KNOWN],
  [
    "a long message without a time",
    { commit: { message: "x".repeat(300) } },
    { ...BARE, repo_commit_message: "x".repeat(200) },
  ],
  ["another answer", { hello: 1 }, BARE],
])("the commit of an archive is described by %s", async (_, answer, expected) => {
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => Response.json(answer));
  expect(await fetchCommit({ allow_private: true }, REPOSITORY, ARCHIVE, BARE)).toEqual(expected);
});

test("a host that does not describe the commit does not fail the build", async () => {
  vi.spyOn(globalThis, "fetch").mockRejectedValue(new TypeError("refused"));
  expect(await fetchCommit({ allow_private: true }, REPOSITORY, ARCHIVE, BARE)).toEqual(BARE);
});
