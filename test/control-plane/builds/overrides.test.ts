import { expect, test } from "vitest";
import { workspacesOf } from "../../../src/control-plane/builds/locks/workspaces.ts";
import { overridesOf } from "../../../src/control-plane/builds/packages/overrides.ts";
import { emptyTree } from "../../../src/control-plane/builds/tree.ts";

type Files = Record<string, unknown>;

function overridesIn(files: Files, folder = "") {
  const tree = emptyTree();
  for (const [path, value] of Object.entries(files)) {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    tree.files.set(path, new TextEncoder().encode(text));
  }
  const { replace } = overridesOf(workspacesOf(tree), folder);
  /** `"a@1.0.0 > b@^2"` */
  return (chain: string) => {
    const names = chain.split(" > ").map((text) => {
      const at = text.indexOf("@", 1);
      return { name: text.slice(0, at), version: text.slice(at + 1) };
    });
    const { name = "", version: range = "" } = names.pop() ?? {};
    return replace({ name, range, parents: names });
  };
}

const withManager = (packageManager: string, fields: Files) => ({
  "package.json": { packageManager, ...fields },
});

test("overrides of npm apply to all that a package leads to", () => {
  const dependencies = { c: "~3.1.0" };
  const overrides = { a: "1.5.0", "b@^2": { ".": "2.5.0", c: "$c", d: { e: "5.0.0" } } };
  const of = overridesIn(withManager("npm@11.0.0", { overrides, dependencies }));
  expect(of("a@^1")).toBe("1.5.0");
  expect(of("x@1.0.0 > a@^1")).toBe("1.5.0");
  expect(of("b@2.1.0")).toBe("2.5.0");
  expect(of("b@^1")).toBe("^1");
  expect(of("c@^3")).toBe("^3");
  expect(of("b@2.5.0 > x@1.0.0 > c@^3")).toBe("~3.1.0");
  expect(of("b@1.0.0 > c@^3")).toBe("^3");
  expect(of("b@2.5.0 > d@1.0.0 > x@1.0.0 > e@^5")).toBe("5.0.0");
  expect(of("d@1.0.0 > b@2.5.0 > e@^5")).toBe("^5");
});

test("overrides of pnpm apply to the package above, and remove", () => {
  const pnpm = { overrides: { a: "1.5.0", "b@2>c": "3.0.0", "x>d": "-", "e@<2": "2.0.0" } };
  const of = overridesIn(withManager("pnpm@9.15.0", { pnpm, overrides: { y: "9.0.0" } }));
  expect(of("x@1.0.0 > a@^1")).toBe("1.5.0");
  expect(of("b@2.1.0 > c@^3")).toBe("3.0.0");
  expect(of("b@1.0.0 > c@^3")).toBe("^3");
  expect(of("b@2.1.0 > x@1.0.0 > c@^3")).toBe("^3");
  expect(of("x@1.0.0 > d@^1")).toBeNull();
  expect(of("d@^1")).toBe("^1");
  expect(of("e@^1.2")).toBe("2.0.0");
  expect(of("e@^3")).toBe("^3");
  // npm's field.
  expect(of("y@^1")).toBe("^1");
});

test("overrides of pnpm-workspace.yaml apply to a package of the workspace", () => {
  const files = {
    "package.json": { overrides: { a: "1.0.0" } },
    "pnpm-workspace.yaml":
      "packages: ['apps/*']\noverrides:\n  a: 2.0.0\n  '@x/b@1>@x/c': ^3.1.0\n",
    "apps/agent/package.json": { overrides: { a: "3.0.0" } },
  };
  const of = overridesIn(files, "apps/agent");
  expect(of("a@^1")).toBe("2.0.0");
  expect(of("@x/b@1.2.0 > @x/c@^3")).toBe("^3.1.0");
});

test("resolutions of yarn have paths", () => {
  const resolutions = { a: "1.5.0", "**/b": "2.5.0", "x/c": "3.0.0", "@x/y/**/d": "4.0.0" };
  const fields = { resolutions, overrides: { e: "5.0.0" } };
  for (const files of [withManager("yarn@4.1.0", fields), { "package.json": { resolutions } }]) {
    const of = overridesIn(files);
    expect(of("z@1.0.0 > a@^1")).toBe("1.5.0");
    expect(of("z@1.0.0 > b@^2")).toBe("2.5.0");
    expect(of("x@1.0.0 > c@^3")).toBe("3.0.0");
    expect(of("x@1.0.0 > z@1.0.0 > c@^3")).toBe("^3");
    expect(of("@x/y@1.0.0 > z@1.0.0 > d@^4")).toBe("4.0.0");
    expect(of("e@^5")).toBe("^5");
  }
});

test("bun has overrides and resolutions of whole packages", () => {
  const fields = { resolutions: { a: "1.5.0" }, overrides: { b: "2.5.0" } };
  const of = overridesIn(withManager("bun@1.3.1", fields));
  expect(of("x@1.0.0 > a@^1")).toBe("1.5.0");
  expect(of("x@1.0.0 > b@^2")).toBe("2.5.0");
});
