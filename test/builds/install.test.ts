import { env } from "cloudflare:workers";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { expect, test } from "vitest";
import { buildLog } from "../../src/builds/build-log.ts";
import type { BuildLine } from "../../src/builds/contract.ts";
import { graphsModule } from "../../src/builds/graphs-module.ts";
import { installer } from "../../src/builds/install.ts";
import { matches, parseIntegrity } from "../../src/builds/integrity.ts";
import { openPackage, packPackage } from "../../src/builds/package-files.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("of several hashes the strongest counts", async () => {
  const sha1 = "sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=";
  const sha512 =
    "sha512-m3HSJL1i83hdltRq0+o9czGb+8KJDKra4t/3JRlnPKcjI8PZm6XBHXx6zG4UuMXaDEZjR1wuXDre9G9zvN7AQw==";
  const parsed = parseIntegrity(`${sha1} ${sha512}`);
  expect(parsed?.algorithm).toBe("SHA-512");
  expect(parsed && (await matches(parsed, bytes("hello")))).toBe(true);
  expect(parsed && (await matches(parsed, bytes("hellO")))).toBe(false);
  expect(parseIntegrity(sha1)?.algorithm).toBe("SHA-1");
  expect(parseIntegrity(undefined)).toBeNull();
  expect(parseIntegrity("md5-abc")).toBeNull();
});

async function tarball(files: Record<string, string>): Promise<Uint8Array> {
  const entries = Object.entries(files).map(([name, body]) => ({
    header: { name, size: bytes(body).byteLength },
    body,
  }));
  return gzipSync(await packTar(entries));
}

test("a package is kept without what no bundle reads, whatever its first folder is", async () => {
  const packed = await packPackage(
    await tarball({
      "thing/package.json": "{}",
      "thing/lib/a.js": "a",
      "thing/lib/empty.js": "",
      "thing/lib/a.js.map": "{}",
      "thing/lib/a.d.ts": "x",
      "thing/README.md": "x",
    }),
  );
  const files = openPackage(packed).files();
  expect([...files.keys()]).toEqual(["package.json", "lib/a.js", "lib/empty.js"]);
  expect(new TextDecoder().decode(files.get("lib/a.js"))).toBe("a");
});

test("a package in the cache is not fetched", async () => {
  const packed = await packPackage(await tarball({ "package/index.js": "cached" }));
  const integrity = `sha512-${btoa("x".repeat(64))}`;
  const hex = "78".repeat(64);
  await env.ARTIFACTS.put(`packages/sha512-${hex}`, packed);
  const log = buildLog({ log: async () => undefined });
  const { install, installed } = installer(env.ARTIFACTS, { allow_private: false }, log);
  const item = { path: "/node_modules/a", name: "a", version: "1.0.0", integrity, asks: [] };
  const count = await install([{ ...item, url: "https://registry.invalid/a.tgz" }]);
  expect(count).toEqual({ cached: 1, fetched: 0, bytes: packed.byteLength });
  expect(installed.get("/node_modules/a")?.files().has("index.js")).toBe(true);
});

test("lines leave in order and in batches, and a refusal reaches the build", async () => {
  const batches: BuildLine[][] = [];
  const log = buildLog({ log: async (lines) => void batches.push(lines) });
  log.info("one");
  log.warn("two");
  await log.flush();
  expect(batches.map((lines) => lines.map(({ message }) => message))).toEqual([["one", "two"]]);
  const refused = buildLog({
    log: async () => {
      throw new Error("The lease is lost");
    },
  });
  refused.info("one");
  await expect(refused.flush()).rejects.toThrow("The lease is lost");
});

test("names of graphs and files cannot break out of the generated module", () => {
  const graphs = { 'a"b': { path: 'x"; evil(); "', export_name: "g", description: "line\nbreak" } };
  const index = { path: '"; evil(); "', export_name: '"e', dims: 2, fields: ['"f'] };
  const ui = { entries: {}, shared: [] };
  const store = { index, ttl: { default_ms: null, refresh_on_read: true } };
  expect(
    graphsModule({ graphs, env: {}, store, auth: null, app: null, ui, raw: {} }).split("\n"),
  ).toEqual([
    'import "heddle:globals";',
    'import * as g0 from "/x\\"; evil(); \\"";',
    'export const types = JSON.parse("{}");',
    "export const graphs = {",
    '  "a\\"b": { module: g0, "export_name":"g","description":"line\\nbreak","context":null },',
    "};",
    'import * as embedding from "/\\"; evil(); \\"";',
    'export const store = { index: { module: embedding, "export_name":"\\"e","dims":2,"fields":["\\"f"] }, ' +
      'ttl: {"default_ms":null,"refresh_on_read":true} };',
    "export const auth = null;",
    "export const app = null;",
    "",
  ]);
});
