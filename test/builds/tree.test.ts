import { expect, test } from "vitest";
import { admit, assertSafeLink, emptyTree, isReadable, safePath } from "../../src/builds/tree.ts";

test.each([
  ["acme-chat-1234567/src/a.ts", "src/a.ts"],
  ["acme-chat-1234567/./src//a.ts", "src/a.ts"],
  ["acme-chat-1234567/", null],
  ["./", null],
])("%j is %j in the tree", (name, path) => {
  expect(safePath(name)).toBe(path);
});

test.each(["/etc/passwd", "a/../../b", "../b", "C:/x", "a/b\\..\\c", "a/b\0c"])(
  "%j leaves the folder",
  (name) => {
    expect(() => safePath(name)).toThrow(expect.objectContaining({ reason: "source_unsafe" }));
  },
);

test.each([
  ["r/a/link", "../b", true],
  ["r/a/link", "../../b", false],
  ["r/link", "..", false],
  ["r/link", "/etc/passwd", false],
  ["r/a/link", "x/../../../b", false],
])("link %s to %s", (name, linkname, isSafe) => {
  const check = () => assertSafeLink({ name, size: 0, type: "symlink", linkname });
  if (isSafe) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ reason: "source_unsafe" }));
});

test("a file or a source that is too large is refused", () => {
  const tree = emptyTree();
  const file = (size: number) => () => admit(tree, { name: "a", size, type: "file" });
  expect(file(17 * 1024 * 1024)).toThrow("a has 17.8 MB; a file may have 16.8 MB.");
  for (let count = 0; count < 4; count++) file(16 * 1024 * 1024)();
  expect(file(1)).toThrow(expect.objectContaining({ reason: "source_too_large" }));
});

test.each([
  ["a.ts", true],
  ["a.mjs", true],
  [".env", true],
  ["config/.env.local", true],
  ["prompt.md", true],
  ["logo.png", false],
  ["addon.node", false],
])("%s can be read: %s", (path, expected) => {
  expect(isReadable(path)).toBe(expected);
});
