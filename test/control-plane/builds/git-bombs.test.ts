import { afterEach, expect, test, vi } from "vitest";
import { SOURCE_LIMITS } from "../../../src/control-plane/builds/limits.ts";
import { fetchByGit } from "../../../src/control-plane/builds/source/git.ts";
import { readPack } from "../../../src/control-plane/builds/source/git-pack.ts";
import { toRepository } from "../../../src/control-plane/builds/source/hosts.ts";
import {
  blob,
  commit,
  oidOf,
  type PackObject,
  packAnswer,
  packOf,
  refsAnswer,
  sizeBytes,
  tree,
  treeBomb,
} from "../../support/git-packs.ts";

const MB = 1024 * 1024;

afterEach(() => {
  vi.restoreAllMocks();
});

/** Fetches from a host that answers with this pack, whose last object is the commit. */
function fetchPack(objects: PackObject[], pack = packOf(objects)) {
  const head = oidOf(objects.at(-1) as PackObject);
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
    const isRefs = String(input instanceof Request ? input.url : input).includes("info/refs");
    return isRefs
      ? new Response(refsAnswer(head), {
          headers: { "content-type": "application/x-git-upload-pack-advertisement" },
        })
      : new Response(packAnswer(pack, head));
  });
  const repository = toRepository("https://git.example.com/acme/chat");
  return fetchByGit({ allow_private: true }, repository, "main", null);
}

const big = (bytes: number): PackObject => ({ type: "blob", data: new Uint8Array(bytes) });
const readme = blob("# Hello");

function chain(levels: number): PackObject[] {
  const objects = [tree([["100644", "README.md", oidOf(readme)]])];
  for (let n = 0; n < levels; n++) {
    objects.push(tree([["40000", "d", oidOf(objects.at(-1) as PackObject)]]));
  }
  return [readme, ...objects, commit(oidOf(objects.at(-1) as PackObject))];
}

test("a commit is read with its folders and links; submodules are left out", async () => {
  const files = tree([
    ["100644", "README.md", oidOf(readme)],
    ["120000", "link.md", oidOf(readme)],
    ["160000", "module", "a".repeat(40)],
  ]);
  const root = tree([
    ["40000", "docs", oidOf(files)],
    ["100755", "run.js", oidOf(readme)],
  ]);
  const head = commit(oidOf(root));
  const fetched = await fetchPack([readme, files, root, head]);
  expect([...fetched.files.keys()].sort()).toEqual(["docs/README.md", "run.js"]);
  expect([...fetched.links]).toEqual([["docs/link.md", "docs/# Hello"]]);
  expect(fetched.commit).toEqual({
    repo_commit_sha: oidOf(head),
    repo_commit_message: "message",
    repo_commit_authored_at: "2023-11-14T22:13:20.000Z",
  });
});

test("deltas are applied by offset and by id, before and after their base", () => {
  const base = blob("hello world");
  const [at, first] = [12, packOf([base])];
  const distance = first.byteLength - 20 - at;
  const delta = Buffer.from([...sizeBytes(11), ...sizeBytes(8), 0x90, 6, 2, 0x68, 0x69]);
  const by_id: PackObject = {
    type: "ref_delta",
    data: delta,
    base: Buffer.from(oidOf(base), "hex"),
  };
  const expected = oidOf(blob("hello hi"));
  expect(distance).toBeLessThan(128);
  const by_offset: PackObject = {
    type: "offset_delta",
    data: delta,
    base: Buffer.from([distance]),
  };
  expect(readPack(packOf([base, by_offset])).has(expected)).toBe(true);
  expect(readPack(packOf([base, by_id])).has(expected)).toBe(true);
  expect(readPack(packOf([by_id, base])).has(expected)).toBe(true);
});

test("ten levels of ten entries of the same tree end after as many visits as are allowed", async () => {
  await expect(fetchPack(treeBomb(10, 10))).rejects.toMatchObject({
    reason: "source_too_large",
    message: `The source has more than ${SOURCE_LIMITS.objects} files and folders.`,
  });
});

test("a folder of 1000 levels is too deep, or its path too long", async () => {
  await expect(fetchPack(chain(1000))).rejects.toMatchObject({ reason: "source_too_large" });
  expect((await fetchPack(chain(50))).files.size).toBe(1);
});

test.each<[string, PackObject[], string]>([
  ["an object of 20 MB", [big(20 * MB)], "one may have"],
  ["objects of 70 MB together", [...Array(7)].map((_, n) => big(10 * MB + n)), "have more than"],
])("%s are refused by their headers, before they are inflated", async (_, objects, text) => {
  const head = commit("a".repeat(40));
  await expect(fetchPack([...objects, head])).rejects.toMatchObject({
    reason: "source_too_large",
    message: expect.stringContaining(text),
  });
});

test("an object that inflates to more than its header has is damaged", async () => {
  const lying = { ...big(100 * MB), size: 10 };
  await expect(fetchPack([lying, commit("a".repeat(40))])).rejects.toMatchObject({
    reason: "source_unavailable",
    message: expect.stringContaining("cannot be inflated to its 10 bytes"),
  });
});

test("deltas count by their results: 64 bytes that make 15 MB each", () => {
  const base = blob("a".repeat(0x10000));
  const copies = Array.from({ length: 240 }, () => 0x80);
  const data = Buffer.from([...sizeBytes(0x10000), ...sizeBytes(240 * 0x10000), ...copies]);
  const by_id = { type: "ref_delta", data, base: Buffer.from(oidOf(base), "hex") } as const;
  expect(() => readPack(packOf([base, by_id, by_id, by_id, by_id, by_id]))).toThrow(
    expect.objectContaining({ reason: "source_too_large" }),
  );
});

test.each<[string, Buffer]>([
  ["nothing", Buffer.alloc(0)],
  ["no pack", Buffer.from("hello, this is no pack at all")],
  ["more objects than it has", packOf([readme], 3)],
  [
    "a delta without a base",
    packOf([{ type: "ref_delta", data: Buffer.from([1, 1, 1, 1]), base: Buffer.alloc(20) }]),
  ],
  [
    "a delta of its own",
    packOf([{ type: "offset_delta", data: Buffer.from([1, 1, 1, 1]), base: Buffer.from([0]) }]),
  ],
  ["a cut tree", packOf([{ type: "tree", data: Buffer.from("40000 a") }])],
])("a pack with %s is source_unavailable", async (_, pack) => {
  const head = commit(oidOf({ type: "tree", data: Buffer.from("40000 a") }));
  await expect(fetchPack([head], pack)).rejects.toMatchObject({ reason: "source_unavailable" });
});

test("four billion objects are refused by the pack's header", async () => {
  const pack = packOf([readme], 0xffffffff);
  await expect(fetchPack([commit("a".repeat(40))], pack)).rejects.toMatchObject({
    reason: "source_too_large",
  });
});
