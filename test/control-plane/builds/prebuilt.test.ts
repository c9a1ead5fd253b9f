import { env } from "cloudflare:workers";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { readNpmLock } from "../../../src/control-plane/builds/locks/npm-lock.ts";
import { selectPrebuilt } from "../../../src/control-plane/builds/packages/select.ts";
import {
  closure,
  entryFile,
  type PrebuiltUnit,
  type Runtime,
  specifiersOf,
} from "../../../src/control-plane/builds/prebuilt/unit.ts";
import { PrebuiltUnits } from "../../../src/control-plane/builds/prebuilt/units.ts";

const CORE = "@langchain/core";
const LANGGRAPH = "@langchain/langgraph";
const SDK = "@langchain/langgraph-sdk";

function pack(name: string, version: string, integrity: string | null = null): Uint8Array {
  const file = entryFile(name);
  const files = { [file]: { text: `export const version = "${version}";`, imports: [] } };
  const unit: PrebuiltUnit = { name, version, integrity, entries: { [name]: file }, files };
  return gzipSync(JSON.stringify(unit));
}

function units(...packages: [name: string, version: string, integrity?: string][]) {
  const carried = packages.map(([name, version, integrity]) => [
    `${name}@${version}`,
    Uint8Array.from(pack(name, version, integrity)).buffer,
  ]);
  return new PrebuiltUnits(env.ARTIFACTS, Object.fromEntries(carried));
}

const reader = (from: PrebuiltUnits) => ({
  readPrebuilt: (name: string, version: string) => from.read(name, version),
});

function select(from: PrebuiltUnits, packages: Record<string, object>, named: string[] = []) {
  const text = JSON.stringify({ lockfileVersion: 3, packages });
  const install = readNpmLock("", text, "https://registry.example.com/");
  return selectPrebuilt(reader(from), install, "", named);
}

const FLAT = {
  [`node_modules/${CORE}`]: { version: "1.3.0" },
  [`node_modules/${LANGGRAPH}`]: { version: "1.7.0" },
};
const BOTH = units([CORE, "1.3.0"], [LANGGRAPH, "1.7.0"], [SDK, "1.15.0"]);

test("packages of the units' versions are provided", async () => {
  const { provided, runtime, lacking } = await select(BOTH, FLAT);
  expect([...provided].sort()).toEqual([`/node_modules/${CORE}`, `/node_modules/${LANGGRAPH}`]);
  expect(Object.keys(runtime.entries).sort()).toEqual([CORE, LANGGRAPH]);
  expect(lacking).toEqual([]);
});

test("one version without a unit leaves all packages to the bundler", async () => {
  const core = { [`node_modules/${CORE}`]: { version: "1.3.1" } };
  const { provided, lacking } = await select(BOTH, { ...FLAT, ...core });
  expect([[...provided], lacking]).toEqual([[], [`${CORE} 1.3.1`]]);
});

test("a package that sees another copy leaves all packages to the bundler", async () => {
  const nested = { [`node_modules/${LANGGRAPH}/node_modules/${CORE}`]: { version: "1.3.0" } };
  const { provided } = await select(BOTH, { ...FLAT, ...nested });
  expect([...provided]).toEqual([]);
});

test("other bytes under the same version are not replaced", async () => {
  const from = units([CORE, "1.3.0", "sha512-registry"]);
  const core = (integrity: string) => ({
    [`node_modules/${CORE}`]: { version: "1.3.0", integrity },
  });
  expect((await select(from, core("sha512-registry"))).provided.size).toBe(1);
  expect((await select(from, core("sha512-patched"))).provided.size).toBe(0);
});

test("another package under the name is not replaced", async () => {
  const alias = { [`node_modules/${CORE}`]: { name: "my-core", version: "1.3.0" } };
  expect((await select(BOTH, alias)).provided.size).toBe(0);
});

test("the SDK is provided when package.json names it", async () => {
  const packages = { ...FLAT, [`node_modules/${SDK}`]: { version: "1.15.0" } };
  expect((await select(BOTH, packages)).provided.size).toBe(2);
  expect((await select(BOTH, packages, [SDK])).provided.size).toBe(3);
  const newer = { ...packages, [`node_modules/${SDK}`]: { version: "1.16.0" } };
  expect((await select(BOTH, newer, [SDK])).provided.size).toBe(2);
});

test("a unit is missing until it is written, and is then read by other builds", async () => {
  const first = new PrebuiltUnits(env.ARTIFACTS, {});
  expect(await first.read(CORE, "1.2.99")).toBeNull();
  expect(first.missing).toEqual([{ name: CORE, version: "1.2.99" }]);
  await first.write({ name: CORE, version: "1.2.99" }, pack(CORE, "1.2.99"));
  await first.write({ name: CORE, version: "1.2.99" }, pack(CORE, "1.2.99"));
  const second = new PrebuiltUnits(env.ARTIFACTS, {});
  const core = { [`node_modules/${CORE}`]: { version: "1.2.99" } };
  expect((await select(second, core)).provided.size).toBe(1);
  expect(second.missing).toEqual([]);
});

test.each([
  ["left-pad", "1.3.0"],
  [CORE, "0.3.79"],
  [CORE, "1.4.0-rc.1"],
  [CORE, "1.4.0+build"],
  [CORE, "v1.4.0"],
  [CORE, "latest"],
  [CORE, "../1.0.0"],
])("%s %s is never prebuilt", async (name, version) => {
  const from = new PrebuiltUnits(env.ARTIFACTS, {});
  expect(await from.read(name, version)).toBeNull();
  expect(from.missing).toEqual([]);
});

test("versions are listed newest first", () => {
  const from = units([CORE, "1.2.13"], [CORE, "1.10.0"], [LANGGRAPH, "1.7.0"], [CORE, "1.4.0"]);
  expect(from.list()).toEqual({ [CORE]: ["1.10.0", "1.4.0", "1.2.13"], [LANGGRAPH]: ["1.7.0"] });
});

test("entries leave out modules that need a browser", () => {
  const exports = { ".": {}, "./client": {}, "./react": {}, "./web": {}, "./package.json": "" };
  expect(specifiersOf(SDK, exports)).toEqual([SDK, `${SDK}/client`]);
});

test("an artifact gets the modules it needs and no others", () => {
  const files: Runtime["files"] = {
    "a.js": { text: "A", imports: ["c.js"] },
    "b.js": { text: "B", imports: ["c.js", "a.js"] },
    "c.js": { text: "C", imports: ["a.js"] },
    "d.js": { text: "D", imports: [] },
  };
  const runtime = { entries: {}, files };
  expect(closure(runtime, ["a.js"])).toEqual({ "rt/a.js": "A", "rt/c.js": "C" });
  expect(closure(runtime, [])).toEqual({});
});
