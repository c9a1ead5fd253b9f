import { expect, test } from "vitest";
import {
  assertSafeLink,
  countFile,
  emptyTree,
  isReadable,
  safePath,
  sharedFolder,
  withoutFolder,
} from "../../../src/control-plane/builds/tree.ts";

test.each([
  ["acme-chat-1234567/src/a.ts", "acme-chat-1234567/src/a.ts"],
  ["./src//./a.ts", "src/a.ts"],
  ["src/", "src"],
  ["./", null],
])("the archive's path %j is the path %j of the tree", (name, path) => {
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
  ["r/a/link", "../../b", true],
  ["r/a/link", "../../../b", false],
  ["link", "..", false],
  ["r/link", "/etc/passwd", false],
  ["r/a/link", "x/../../../../b", false],
])("link %s to %s", (name, linkname, isSafe) => {
  const check = () => assertSafeLink({ name, size: 0, type: "symlink", linkname });
  if (isSafe) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ reason: "source_unsafe" }));
});

test("a file or a source that is too large is refused", () => {
  const tree = emptyTree();
  const file = (size: number) => () => countFile(tree, { name: "a", size, type: "file" });
  expect(file(17 * 1024 * 1024)).toThrow("a has 17.8 MB; the limit is 16.8 MB.");
  for (let count = 0; count < 4; count++) file(16 * 1024 * 1024)();
  expect(file(1)).toThrow(expect.objectContaining({ reason: "source_too_large" }));
});

test.each([
  ["a.ts", true],
  ["a.mjs", true],
  [".env", true],
  ["config/.env.local", true],
  ["prompt.md", true],
  ["ui.css", true],
  ["logo.png", true],
  ["addon.node", false],
])("%s can be read: %s", (path, expected) => {
  expect(isReadable(path, 1000)).toBe(expected);
});

test("a large image is left out, and a large script is not", () => {
  expect(isReadable("logo.png", 600_000)).toBe(false);
  expect(isReadable("data.json", 600_000)).toBe(true);
});

test("the folder around everything is found and taken off", () => {
  const tree = emptyTree();
  tree.files.set("chat-1/src/a.ts", new Uint8Array());
  tree.others.add("chat-1/logo.png");
  expect(sharedFolder(tree)).toBe("chat-1");
  const stripped = withoutFolder(tree);
  expect([...stripped.files.keys(), ...stripped.others]).toEqual(["src/a.ts", "logo.png"]);
  tree.files.set("langgraph.json", new Uint8Array());
  expect(sharedFolder(tree)).toBeNull();
});
