import { afterEach, expect, test, vi } from "vitest";
import type { BuildOrder, BuildStore } from "../../../src/control-plane/builds/contract.ts";
import { fetchByGit } from "../../../src/control-plane/builds/source/git.ts";
import { toRepository } from "../../../src/control-plane/builds/source/hosts.ts";
import { fetchSource } from "../../../src/control-plane/builds/source/source.ts";
import { answerHost } from "../../support/answer-host.ts";
import {
  blob,
  commit,
  oidOf,
  type PackObject,
  packAnswer,
  packOf,
  refsAnswer,
  tree,
} from "../../support/git-packs.ts";

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
  const moved = () => new Response(null, { status: 302, headers: { location } });
  const requests = answerHost("git.example.com", moved);
  const repository = toRepository("https://git.example.com/acme/chat");
  const fetched = fetchByGit({ allow_private: false }, repository, "main", null);
  await expect(fetched).rejects.toMatchObject({ reason: "source_unsafe" });
  expect(requests).toHaveLength(1);
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

const REFS_TYPE = "application/x-git-upload-pack-advertisement";

/** Serves a repository by git at one URL; other addresses get `otherwise`. */
function serveGit(url: string, objects: PackObject[], otherwise: () => Response) {
  const head = oidOf(objects.at(-1) as PackObject);
  const answers: Record<string, () => Response> = {
    [`${url}/info/refs?service=git-upload-pack`]: () =>
      new Response(refsAnswer(head), { headers: { "content-type": REFS_TYPE } }),
    [`${url}/git-upload-pack`]: () => new Response(packAnswer(packOf(objects), head)),
  };
  return vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
    const requested = String(input instanceof Request ? input.url : input);
    return answers[requested]?.() ?? otherwise();
  });
}

function fetchRepository(repo_url: string, token: string | null = null) {
  const order: BuildOrder = {
    allow_private: true,
    deployment_id: "dep-1",
    revision_id: "rev-1",
    source: { kind: "git", repo_url, repo_ref: "main", token },
    config_path: "langgraph.json",
    registry_url: "https://registry.example.com/",
  };
  return fetchSource({} as BuildStore, order);
}

const readme = blob("# Hello");
const root = tree([["100644", "README.md", oidOf(readme)]]);
const REPOSITORY = [readme, root, commit(oidOf(root))];

test.each([
  ["without a suffix", "https://dev.azure.test/acme/My%20Project/_git/chat", 404, ""],
  ["with a page for other addresses", "https://dev.azure.test/acme/p/_git/chat", 200, ""],
  ["with the suffix", "https://git.test/acme/chat", 401, ".git"],
])("a repository is found by its URL %s", async (_, url, status, suffix) => {
  const headers = { "content-type": "text/html" };
  serveGit(`${url}${suffix}`, REPOSITORY, () => new Response("page", { status, headers }));
  const { tree } = await fetchRepository(url);
  expect([...tree.files.keys()]).toEqual(["README.md"]);
});

test.each([
  [404, "source_not_found"],
  [401, "source_unauthorized"],
])("a repository whose URLs are refused with %s is %s", async (status, reason) => {
  const fetches = serveGit("https://git.test/x", REPOSITORY, () => new Response("", { status }));
  const fetched = fetchRepository("https://git.test/acme/chat", "token");
  await expect(fetched).rejects.toMatchObject({ reason });
  const urls = fetches.mock.calls.map(([url]) => String(url));
  expect(urls.filter((url) => url.includes("/info/refs"))).toHaveLength(2);
});

test("links of a git repository are followed in linked folders, and not out of the repository", async () => {
  const link = (target: string) => blob(target);
  const inner = [link("../d"), link("../../README.md"), link("/README.md")] as const;
  const folder = tree([
    ["120000", "absolute.md", oidOf(inner[2])],
    ["120000", "c", oidOf(inner[0])],
    ["120000", "out.md", oidOf(inner[1])],
  ]);
  const alias = link("b");
  const top = tree([
    ["100644", "README.md", oidOf(readme)],
    ["120000", "a", oidOf(alias)],
    ["40000", "b", oidOf(folder)],
    ["40000", "d", oidOf(root)],
  ]);
  const objects = [readme, root, ...inner, folder, alias, top, commit(oidOf(top))];
  serveGit("https://git.test/acme/chat.git", objects, () => new Response("", { status: 404 }));
  const { tree: found, warnings } = await fetchRepository("https://git.test/acme/chat");
  const paths = ["README.md", "d/README.md", "b/c/README.md", "a/c/README.md"];
  expect([...found.files.keys()].sort()).toEqual(paths.sort());
  expect(warnings).toEqual([
    "Left out links that lead to no file of the source: b/absolute.md, b/out.md",
  ]);
});

test.each([
  ["token", "source_unauthorized", "it may have expired: update the integration"],
  [null, "source_not_found", "choose an integration whose token can read it"],
])("the page to sign in of Azure DevOps for the token %j is %s", async (token, reason, remedy) => {
  const headers = { "content-type": "text/html" };
  serveGit("https://git.test/x", REPOSITORY, () => new Response("page", { status: 203, headers }));
  const fetched = fetchRepository("https://dev.azure.test/acme/p/_git/chat", token);
  const message = expect.stringContaining(remedy);
  await expect(fetched).rejects.toMatchObject({ reason, message });
});

test("submodules and files of Git LFS are named in warnings", async () => {
  const modules = blob('[submodule "lib"]\n\tpath = vendor/lib\n\turl = https://git.test/lib\n');
  const pointer = blob("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
  const vendor = tree([["160000", "lib", "a".repeat(40)]]);
  const top = tree([
    ["100644", ".gitmodules", oidOf(modules)],
    ["100644", "prompt.md", oidOf(pointer)],
    ["40000", "vendor", oidOf(vendor)],
  ]);
  const objects = [modules, pointer, vendor, top, commit(oidOf(top))];
  serveGit("https://git.test/acme/chat.git", objects, () => new Response("", { status: 404 }));
  const { warnings } = await fetchRepository("https://git.test/acme/chat");
  expect(warnings).toEqual([
    expect.stringMatching(/Git LFS pointers .*: prompt\.md\. .*git lfs migrate export/),
    expect.stringMatching(/Git submodules are empty.*: vendor\/lib\. .*commit its files/),
  ]);
});

test("a missing repository of a known host costs one request by git", async () => {
  const fetches = serveGit(
    "https://git.test/x",
    REPOSITORY,
    () => new Response("", { status: 404 }),
  );
  await expect(fetchRepository("https://github.com/acme/chat")).rejects.toMatchObject({
    reason: "source_not_found",
  });
  expect(fetches).toHaveBeenCalledTimes(2);
});
