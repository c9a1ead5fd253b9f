import { expect, test } from "vitest";
import type { Disk } from "../../../src/control-plane/builds/resolve/disk.ts";
import { createResolver } from "../../../src/control-plane/builds/resolve/resolver.ts";
import { readTsConfig } from "../../../src/control-plane/builds/resolve/tsconfig.ts";

type Files = Record<string, string>;
type Options = { provided?: string[]; missing?: string[]; links?: Files; platform?: "browser" };

function diskOf(files: Files, { missing = [], links = {} }: Options = {}): Disk {
  const manifest: Disk["manifest"] = (directory) => {
    const text = files[`${directory}/package.json`];
    return text === undefined ? null : JSON.parse(text);
  };
  return {
    read: (path) => (files[path] === undefined ? null : new TextEncoder().encode(files[path])),
    has: (path) => path in files,
    manifest,
    isInstalled: (directory) => manifest(directory) !== null,
    isMissing: (directory) => missing.includes(directory),
    link: (directory) => links[directory] ?? null,
  };
}

function resolver(files: Files, options: Options = {}) {
  const disk = diskOf(files, options);
  const tsconfig = readTsConfig("", disk);
  const { provided = [], platform } = options;
  const isBuiltin = (name: string) => name === "fs" || name.startsWith("node:");
  const packages = { disk, tsconfig, provided: new Set(provided), isBuiltin };
  return createResolver({ ...packages, ...(platform && { platform }) });
}

const FILES = {
  "/src/agent.ts": "",
  "/src/tools/index.ts": "",
  "/src/view.tsx": "",
  "/lib.js": "",
  "/tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}',
  "/node_modules/plain/package.json": '{"main": "lib/main"}',
  "/node_modules/plain/lib/main.js": "",
  "/node_modules/plain/extra.js": "",
  "/node_modules/modern/package.json":
    '{"name": "modern", "sideEffects": false, "exports": {".": {"workerd": "./w.js", "default": "./d.js"}, "./x/*": "./x/*.js"}, "imports": {"#own": "./own.js"}}',
  "/node_modules/modern/w.js": "",
  "/node_modules/modern/d.js": "",
  "/node_modules/modern/own.js": "",
  "/node_modules/modern/x/y.js": "",
  "/node_modules/modern/node_modules/plain/package.json": "{}",
  "/node_modules/modern/node_modules/plain/index.js": "",
};

test.each([
  ["./tools", "/src", "/src/tools/index.ts"],
  ["./agent.js", "/src", "/src/agent.ts"],
  ["./view.js", "/src", "/src/view.tsx"],
  ["./lib", "", "/lib.js"],
  ["../lib.js", "/src", "/lib.js"],
  ["/src/agent.ts", "", "/src/agent.ts"],
  ["@/agent", "/src/tools", "/src/agent.ts"],
  ["plain", "/src", "/node_modules/plain/lib/main.js"],
  ["plain/extra", "/src", "/node_modules/plain/extra.js"],
  ["plain", "/node_modules/modern", "/node_modules/modern/node_modules/plain/index.js"],
  ["modern", "/src", "/node_modules/modern/w.js"],
  ["modern/x/y", "/src", "/node_modules/modern/x/y.js"],
  ["modern", "/node_modules/modern/x", "/node_modules/modern/w.js"],
  ["#own", "/node_modules/modern/x", "/node_modules/modern/own.js"],
])("%s from %j is %s", (specifier, directory, path) => {
  expect(resolver(FILES)(specifier, directory, "import")).toMatchObject({ type: "file", path });
});

test("a package without side effects is marked", () => {
  const resolve = resolver(FILES);
  expect(resolve("modern", "/src", "import")).toMatchObject({ has_side_effects: false });
  expect(resolve("plain", "/src", "import")).toMatchObject({ has_side_effects: true });
});

test.each([
  ["./gone", 'Could not resolve "./gone": the file does not exist'],
  ["modern/inside", 'its package.json exports no "./inside"'],
  ["#nothing", 'no package.json maps it under "imports"'],
])("%s is an error", (specifier, text) => {
  const resolved = resolver(FILES)(specifier, "/src", "import");
  expect(resolved).toEqual({ type: "error", text: expect.stringContaining(text) });
});

test.each([
  ["gone", 'the package "gone" is not installed'],
  ["@scope/gone/sub", 'the package "@scope/gone" is not installed'],
])("%s is absent", (specifier, text) => {
  const resolved = resolver(FILES)(specifier, "/src", "import");
  expect(resolved).toEqual({ type: "absent", text: expect.stringContaining(text) });
});

test("builtins, prebuilt packages and packages to fetch are distinguished", () => {
  const resolve = resolver(FILES, {
    provided: ["/node_modules/zod"],
    missing: ["/node_modules/late", "/node_modules/zod"],
  });
  expect(resolve("fs", "/src", "import")).toEqual({ type: "builtin", name: "fs" });
  expect(resolve("node:fs", "/src", "import")).toEqual({ type: "builtin", name: "node:fs" });
  expect(resolve("zod/v4", "/src", "import")).toEqual({ type: "provided", specifier: "zod/v4" });
  expect(resolve("late", "/src", "import")).toEqual({
    type: "missing",
    directory: "/node_modules/late",
  });
});

test.each([
  ["./main.js", ".", "import", "./main.js"],
  [{ import: "./a.mjs", require: "./a.cjs" }, ".", "require", "./a.cjs"],
  [{ browser: "./b.js", default: "./d.js" }, ".", "import", "./d.js"],
  [{ ".": { workerd: { import: "./w.js" }, default: "./d.js" } }, ".", "import", "./w.js"],
  [{ ".": { workerd: { require: "./w.js" }, default: "./d.js" } }, ".", "import", "./d.js"],
  [{ "./*": "./dist/*.js", "./a/*": "./other/*.js" }, "./a/b", "import", "./other/b.js"],
  [{ "./*": "./dist/*.js", "./private/*": null }, "./private/x", "import", null],
  [[{ unknown: "./u.js" }, "./list.js"], ".", "import", "./list.js"],
  [{ "./a": "./a.js" }, ".", "import", null],
  [{ browser: "./b.js", node: "./n.js" }, ".", "import", "./b.js"],
  [{ browser: { types: "./b.d.ts" }, node: { require: "./n.cjs" } }, ".", "require", "./n.cjs"],
  [{ node: "./n.js" }, ".", "browser_import", null],
  [{ workerd: null, default: "./d.js" }, ".", "import", null],
  [{ ".": { worker: { import: null }, default: "./d.js" } }, ".", "import", null],
  ["./main.js", ".", "require", "./main.js"],
] as const)("exports %j of %s by %s", (map, subpath, kind, expected) => {
  const targets = ["main", "a", "b", "d", "n", "u", "w", "list", "dist/private/x", "other/b"];
  const paths = targets.flatMap((name) => ["js", "mjs", "cjs"].map((end) => `/${name}.${end}`));
  const files = Object.fromEntries(paths.map((path) => [`/node_modules/p${path}`, ""]));
  files["/node_modules/p/package.json"] = JSON.stringify({ exports: map });
  const isBrowser = kind === "browser_import";
  const resolve = resolver(files, isBrowser ? { platform: "browser" } : {});

  const resolved = resolve(`p${subpath.slice(1)}`, "/src", isBrowser ? "import" : kind);

  const path = `/node_modules/p${expected?.slice(1)}`;
  expect(resolved).toMatchObject(expected === null ? { type: "error" } : { type: "file", path });
});

const TWO_FORMS = {
  "/node_modules/p/package.json": JSON.stringify({ main: "./m.cjs", module: "./m.mjs" }),
  "/node_modules/p/m.cjs": "",
  "/node_modules/p/m.mjs": "",
};

test.each([
  ["require", "/node_modules/p/m.cjs"],
  ["import", "/node_modules/p/m.cjs"],
] as const)("by %s, a package without exports is %s, so that it has one instance", (kind, path) => {
  expect(resolver(TWO_FORMS)("p", "/src", kind)).toMatchObject({ path });
});

test.each([
  ["has no main", { module: "./m.mjs" }],
  ["has a main that does not exist", { main: "./gone.js", module: "./m.mjs" }],
])("a package that %s is its module", (_, manifest) => {
  const files = { ...TWO_FORMS, "/node_modules/p/package.json": JSON.stringify(manifest) };
  for (const kind of ["import", "require"] as const) {
    expect(resolver(files)("p", "/src", kind)).toMatchObject({ path: "/node_modules/p/m.mjs" });
  }
});

test("of JavaScript and its TypeScript, a package gives the first and the source the second", () => {
  const files = {
    ...Object.fromEntries(["/src/b.js", "/src/b.ts"].map((path) => [path, ""])),
    "/node_modules/p/package.json": JSON.stringify({ main: "./lib/b" }),
    "/node_modules/p/lib/b.js": "",
    "/node_modules/p/lib/b.ts": "",
  };
  const resolve = resolver(files);
  expect(resolve("./b", "/src", "import")).toMatchObject({ path: "/src/b.ts" });
  for (const [specifier, from] of [
    ["p", "/src"],
    ["p/lib/b", "/src"],
    ["./b", "/node_modules/p/lib"],
  ] as const) {
    expect(resolve(specifier, from, "require")).toMatchObject({ path: "/node_modules/p/lib/b.js" });
  }
});

test("a build for browsers uses the browser field of a package", () => {
  const text = { main: "./m.js", module: "./m.js", browser: "./b.js" };
  const map = { main: "./m.js", browser: { "./m.js": "./b.js", stream: false, fs: "./b.js" } };
  const files = {
    "/node_modules/text/package.json": JSON.stringify(text),
    "/node_modules/map/package.json": JSON.stringify(map),
    ...Object.fromEntries(
      ["text", "map"].flatMap((name) =>
        ["m", "b"].map((file) => [`/node_modules/${name}/${file}.js`, ""]),
      ),
    ),
  };
  const resolve = resolver(files, { platform: "browser" });
  expect(resolve("text", "/src", "import")).toMatchObject({ path: "/node_modules/text/b.js" });
  expect(resolve("map", "/src", "import")).toMatchObject({ path: "/node_modules/map/b.js" });
  expect(resolve("stream", "/node_modules/map", "require")).toEqual({ type: "left-out" });
  expect(resolve("fs", "/node_modules/map", "require")).toMatchObject({
    path: "/node_modules/map/b.js",
  });
  expect(resolver(files)("map", "/src", "import")).toMatchObject({
    path: "/node_modules/map/m.js",
  });
});

test.each(["https://esm.sh/x", "//cdn.test/x.js", "data:text/javascript,1"])(
  "%s is refused as a URL",
  (specifier) => {
    const text = expect.stringContaining("modules cannot be imported by their URL");
    expect(resolver(FILES)(specifier, "/src", "import")).toEqual({ type: "error", text });
  },
);

test.each([
  ["@/gone", '"paths" of tsconfig.json leads to src/gone, which does not exist'],
  ["~/gone", 'no pattern of "paths" in tsconfig.json matches it'],
])("%s is an alias that leads nowhere", (specifier, why) => {
  const text = `Could not resolve "${specifier}": ${why}`;
  expect(resolver(FILES)(specifier, "/src", "import")).toEqual({ type: "error", text });
});

test("imports may name another package, or a builtin", () => {
  const imports = {
    "#dep": { workerd: "dep", default: "./polyfill.js" },
    "#fs": { node: "node:fs", default: "./polyfill.js" },
    "#crypto": "node:crypto",
  };
  const resolve = resolver({
    "/package.json": JSON.stringify({ imports }),
    "/polyfill.js": "",
    "/node_modules/dep/package.json": "{}",
    "/node_modules/dep/index.js": "",
  });
  const path = "/node_modules/dep/index.js";
  expect(resolve("#dep", "", "import")).toMatchObject({ type: "file", path });
  expect(resolve("#fs", "/src", "import")).toMatchObject({ type: "file", path: "/polyfill.js" });
  expect(resolve("#crypto", "/src", "import")).toEqual({ type: "builtin", name: "node:crypto" });
});

test("names with the ending of a script, and files with signs of URLs, are found", () => {
  const resolve = resolver({
    "/a#b.ts": "",
    "/lib.js/index.ts": "",
    "/node_modules/chart.js/package.json": '{"main": "./chart.cjs"}',
    "/node_modules/chart.js/chart.cjs": "",
  });
  expect(resolve("./a#b", "", "import")).toMatchObject({ path: "/a#b.ts" });
  expect(resolve("./lib.js", "", "import")).toMatchObject({ path: "/lib.js/index.ts" });
  const path = "/node_modules/chart.js/chart.cjs";
  expect(resolve("chart.js", "", "import")).toMatchObject({ path });
});

test("a link leads to the folder of the source, whose own packages come first", () => {
  const files = {
    "/packages/shared/package.json": '{"name": "shared", "exports": {".": "./src/index.js"}}',
    "/packages/shared/src/index.ts": "",
  };
  const resolve = resolver(files, { links: { "/node_modules/shared": "/packages/shared" } });
  const resolved = resolve("shared", "/apps/agent", "import");
  expect(resolved).toMatchObject({ type: "file", path: "/packages/shared/src/index.ts" });
});

const read = (folder: string, files: Files, options: Options = {}) =>
  readTsConfig(folder, diskOf(files, options));

test("tsconfig follows extends, and the nearest file wins", () => {
  const files = {
    "/apps/a/tsconfig.json": '{"extends": "../../base", "compilerOptions": {"jsx": "react-jsx"}}',
    "/base.json":
      '{"compilerOptions": {"jsx": "preserve", "jsxImportSource": "hono/jsx", "baseUrl": "./src", "paths": {"~": ["./all.ts"]}}}',
    "/src/all.ts": "",
    "/src/deep/x.ts": "",
  };
  const tsconfig = read("apps/a", files);
  expect(tsconfig.compilerOptions).toEqual({ jsx: "react-jsx", jsxImportSource: "hono/jsx" });
  const none = { provided: new Set<string>(), isBuiltin: () => false };
  const resolve = createResolver({ disk: diskOf(files), tsconfig, ...none });
  expect(resolve("~", "/apps/a", "import")).toMatchObject({ path: "/src/all.ts" });
  expect(resolve("deep/x", "/apps/a", "import")).toMatchObject({ path: "/src/deep/x.ts" });
});

test.each([
  ["@/db", "/src/real-db.ts"],
  ["@/db/x", "/src/db/x.ts"],
  ["@/lib/x", "/lib/x.ts"],
])("of the paths that match %s, the exact one or the longest prefix wins", (specifier, path) => {
  const paths = {
    "*": ["./any/*"],
    "@/*": ["./src/*"],
    "@/lib/*": ["./lib/*"],
    "@/db": ["./src/real-db.ts"],
  };
  const files = {
    "/tsconfig.json": JSON.stringify({ compilerOptions: { paths } }),
    ...Object.fromEntries(
      ["/src/db.ts", "/src/db/x.ts", "/src/real-db.ts", "/src/lib/x.ts", "/lib/x.ts"].map(
        (file) => [file, ""],
      ),
    ),
  };
  expect(resolver(files)(specifier, "/src", "import")).toMatchObject({ path });
});

test("tsconfig extends a list of files and packages, of which the last one wins", () => {
  const files = {
    "/tsconfig.json":
      '{"extends": ["./one.json", "@tsconfig/node22", "bases/strict.json"], "compilerOptions": {"target": "es2022"}}',
    "/one.json":
      '{"compilerOptions": {"jsx": "preserve", "jsxFactory": "h", "target": "es5", "paths": {"~": ["./one.ts"]}}}',
    "/node_modules/@tsconfig/node22/package.json": '{"name": "@tsconfig/node22"}',
    "/node_modules/@tsconfig/node22/tsconfig.json":
      '{"compilerOptions": {"jsx": "react", "experimentalDecorators": true}}',
    "/node_modules/bases/package.json": '{"exports": {"./strict.json": "./lib/strict.json"}}',
    "/node_modules/bases/lib/strict.json":
      '{"extends": "./more", "compilerOptions": {"experimentalDecorators": false}}',
    "/node_modules/bases/lib/more.json":
      '{"compilerOptions": {"jsxFactory": "m", "paths": {"~": ["./more.ts"]}}}',
  };
  expect(read("", files)).toEqual({
    compilerOptions: {
      jsx: "react",
      jsxFactory: "m",
      target: "es2022",
      experimentalDecorators: false,
    },
    base: null,
    paths: { "~": ["/node_modules/bases/lib/more.ts"] },
    missing: new Set(),
    absent: [],
  });
});

test("paths of tsconfig are relative to its folder, to the last baseUrl, or to that of the leaf", () => {
  const options = {
    paths: { "@/*": ["\u0024{configDir}/src/*"], p: ["./types/p.d.ts", "./p.ts"], q: ["./q.ts"] },
  };
  const files = {
    "/apps/a/tsconfig.json": JSON.stringify({ extends: "../../base" }),
    "/apps/b/tsconfig.json": JSON.stringify({
      extends: "../../base",
      compilerOptions: { baseUrl: "./lib" },
    }),
    "/base.json": JSON.stringify({ compilerOptions: options }),
  };
  expect(read("apps/a", files).paths).toEqual({
    "@/*": ["/apps/a/src/*"],
    p: ["/p.ts"],
    q: ["/q.ts"],
  });
  expect(read("apps/b", files).paths).toMatchObject({
    "@/*": ["/apps/b/src/*"],
    q: ["/apps/b/lib/q.ts"],
  });
});

test("packages that tsconfig extends are fetched when the lockfile has them", () => {
  const files = { "/tsconfig.json": '{"extends": ["late", "gone"]}' };
  const { missing, absent } = read("", files, { missing: ["/node_modules/late"] });
  expect([...missing]).toEqual(["/node_modules/late"]);
  expect(absent).toEqual(["gone"]);
});

test("tsconfig files that extend each other are read a few times", () => {
  const both =
    '{"extends": ["./tsconfig.json", "./other.json"], "compilerOptions": {"jsx": "react"}}';
  const files = { "/tsconfig.json": both, "/other.json": both };
  expect(read("", files).compilerOptions).toEqual({ jsx: "react" });
});

test.each<[object, string, string]>([
  [
    { main: "dist/index.js" },
    "core",
    "./dist/index.js of packages/core does not exist, nor its source; commit it",
  ],
  [{ exports: "./dist/index.js" }, "core", "./dist/index.js of packages/core does not exist"],
  [{ exports: { types: "./a.d.ts", import: "./b.js" } }, "core", "./b.js of packages/core does"],
  [{}, "core/gone", "./gone of packages/core does not exist"],
  [{ exports: { ".": "./b.js" } }, "core/gone", 'its package.json exports no "./gone"'],
])("a linked package with %j names what %s lacks", (manifest, specifier, text) => {
  const files = { "/packages/core/package.json": JSON.stringify(manifest) };
  const links = { "/node_modules/core": "/packages/core" };
  const resolved = resolver(files, { links })(specifier, "/src", "import");
  expect(resolved).toEqual({ type: "error", text: expect.stringContaining(text) });
});

test.each<[object, string, string, string]>([
  [{ main: "dist/index.js" }, "core", "src/index.ts", "import"],
  [{ exports: { "./*": { import: "./dist/*.js" } } }, "core/a/b", "src/a/b.tsx", "import"],
  [{ exports: { import: "./dist/esm/index.mjs" } }, "core", "src/index.ts", "import"],
  [{ exports: { require: "./dist/index.cjs" } }, "core", "src/index.cts", "require"],
  [{ exports: "./build/lib/index.js" }, "core", "lib/index.ts", "import"],
  [{ exports: { node: "./out/node.js" } }, "core", "node.ts", "import"],
  [{ exports: "./dist/node/index.js" }, "core", "src/node/index.ts", "import"],
  [
    { exports: { browser: "./src/edge.ts", import: "./dist/a.js" } },
    "core",
    "src/edge.ts",
    "import",
  ],
])("a linked package with %j, without its built files, resolves %s to %s for %s", (...row) => {
  const [manifest, specifier, source, kind] = row;
  const files = {
    "/packages/core/package.json": JSON.stringify(manifest),
    "/packages/core/src/a.ts": "",
    [`/packages/core/${source}`]: "",
  };
  const links = { "/node_modules/core": "/packages/core" };
  const resolved = resolver(files, { links })(specifier, "/src", kind as "import");
  expect(resolved).toMatchObject({ type: "file", path: `/packages/core/${source}` });
});

test.each(["./generated/client/index.js", "./dist/client/index.js"])(
  "%s of a linked package does not resolve to src/index.ts",
  (target) => {
    const files = {
      "/packages/core/package.json": JSON.stringify({ exports: { "./client": target } }),
      "/packages/core/src/index.ts": "",
    };
    const links = { "/node_modules/core": "/packages/core" };
    const resolved = resolver(files, { links })("core/client", "/src", "import");
    expect(resolved).toMatchObject({ type: "error" });
  },
);

test("a linked package with its built files resolves to them", () => {
  const files = {
    "/packages/core/package.json": JSON.stringify({ main: "dist/index.js" }),
    "/packages/core/dist/index.js": "",
    "/packages/core/src/index.ts": "",
  };
  const links = { "/node_modules/core": "/packages/core" };
  const resolved = resolver(files, { links })("core", "/src", "import");
  expect(resolved).toMatchObject({ type: "file", path: "/packages/core/dist/index.js" });
});

test("an installed package without its built files is an error", () => {
  const files = {
    "/node_modules/core/package.json": JSON.stringify({ main: "dist/index.js" }),
    "/node_modules/core/src/index.ts": "",
  };
  expect(resolver(files)("core", "/src", "import")).toMatchObject({ type: "error" });
});

test("a link to a folder without a package.json is an error", () => {
  const links = { "/node_modules/core": "/packages/core" };
  expect(resolver({}, { links })("core", "/src", "import")).toEqual({
    type: "error",
    text: expect.stringContaining("packages/core/package.json does not exist"),
  });
});
