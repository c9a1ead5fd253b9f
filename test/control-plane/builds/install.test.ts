import { env } from "cloudflare:workers";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { expect, test, vi } from "vitest";
import { buildLog } from "../../../src/control-plane/builds/build-log.ts";
import type { BuildLine, BuildOrder } from "../../../src/control-plane/builds/contract.ts";
import {
  type Integrity,
  matches,
  parseIntegrity,
} from "../../../src/control-plane/builds/integrity.ts";
import { installPaths } from "../../../src/control-plane/builds/packages/dependencies.ts";
import { installer } from "../../../src/control-plane/builds/packages/install.ts";
import {
  openPackage,
  packPackage,
} from "../../../src/control-plane/builds/packages/package-files.ts";
import { PrebuiltUnits } from "../../../src/control-plane/builds/prebuilt/units.ts";
import { BuildStorage } from "../../../src/control-plane/builds/queue/storage.ts";
import { graphsModule } from "../../../src/control-plane/builds/types/graphs-module.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("the strongest of several hashes counts", async () => {
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

test("a package is stored without files that bundles do not read, under any top folder", async () => {
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

const order: BuildOrder = {
  deployment_id: "dep-1",
  revision_id: "rev-1",
  source: { kind: "git", repo_url: "https://git.example.com/a/b", repo_ref: "main", token: null },
  config_path: "langgraph.json",
  registry_url: "",
  allow_private: false,
};
const storage = () => new BuildStorage(env.ARTIFACTS, order, new PrebuiltUnits(env.ARTIFACTS, {}));

async function sha512(data: Uint8Array): Promise<Integrity> {
  const digest = await crypto.subtle.digest("SHA-512", data);
  return { algorithm: "SHA-512", hex: Buffer.from(digest).toString("hex") };
}

test("a package in the cache is not fetched", async () => {
  const packed = await tarball({ "package/index.js": "cached" });
  const found = await sha512(packed);
  await storage().writeTarball(found, packed.byteLength, new Blob([packed]).stream());
  const integrity = `sha512-${Buffer.from(found.hex, "hex").toString("base64")}`;
  const log = buildLog({ log: async () => undefined });
  const { install, installed } = installer(storage(), { allow_private: false }, log);
  const item = { path: "/node_modules/a", name: "a", version: "1.0.0", integrity, needs: [] };
  const count = await install([{ ...item, url: "https://registry.invalid/a.tgz" }]);
  expect(count).toMatchObject({ cached: 1, fetched: 0 });
  expect(installed.get("/node_modules/a")?.files().has("index.js")).toBe(true);
});

test("an optional package for some systems is left out, a required one is not", async () => {
  const packed = await tarball({ "package/package.json": '{"os": ["darwin"]}' });
  const found = await sha512(packed);
  await storage().writeTarball(found, packed.byteLength, new Blob([packed]).stream());
  const integrity = `sha512-${Buffer.from(found.hex, "hex").toString("base64")}`;
  const log = buildLog({ log: async () => undefined });
  const packages = new Map(
    ["optional", "required"].map((name) => {
      const path = `/node_modules/${name}`;
      const url = "https://registry.invalid/a.tgz";
      const item = { path, name, version: "1.0.0", url, integrity, needs: [] };
      return [path, { ...item, is_optional: name === "optional" }];
    }),
  );
  const install = { packages, links: new Map() };
  const packagesOf = installer(storage(), { allow_private: false }, log);
  await installPaths(log, packagesOf, install, packages.keys());
  expect([...packages.keys()]).toEqual(["/node_modules/required"]);
  expect([...packagesOf.installed.keys()]).toEqual(["/node_modules/required"]);
});

test("bytes are not cached under the hash of others", async () => {
  const [data, other] = [bytes("malicious"), await sha512(bytes("known package"))];
  const write = storage().writeTarball(other, data.byteLength, new Blob([data]).stream());
  await expect(write).rejects.toThrow();
  expect(await storage().readTarball(other)).toBeNull();
});

test.each<[string, Integrity]>([
  ["SHA-1", { algorithm: "SHA-1", hex: "0".repeat(40) }],
  ["a short hash", { algorithm: "SHA-512", hex: "00" }],
  ["a path", { algorithm: "SHA-256", hex: "../artifacts/x.json".padEnd(64, "0") }],
  ["another algorithm", { algorithm: "MD5", hex: "0".repeat(32) } as unknown as Integrity],
])("nothing is cached under %s", async (_, integrity) => {
  const put = vi.spyOn(env.ARTIFACTS, "put");
  await storage().writeTarball(integrity, 1, new Blob(["x"]).stream());
  expect(put).not.toHaveBeenCalled();
  put.mockRestore();
});

test("a build writes its own artifact, within limits, and reads no upload of others", async () => {
  const own = storage();
  expect(() => own.stored()).toThrow("without an artifact");
  await own.writeArtifact("artifact", 2, new Blob(["{}"]).stream());
  expect(own.stored()).toEqual({ artifact_key: "artifacts/rev-1.json", artifact_bytes: 2 });
  const large = own.writeArtifact("artifact", 1e9, new Blob(["{}"]).stream());
  await expect(large).rejects.toThrow("more than");
  expect(await own.readSource()).toBeNull();
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
  const config = { folder: '"', graphs, env: {}, store, auth: null, app: null, ui, raw: {} };
  expect(graphsModule(config).split("\n")).toEqual([
    'import { Call } from "heddle:globals";',
    'Call.directory = "/bundle/\\"";',
    'export const types = JSON.parse("{}");',
    "export const graphs = {",
    '  "a\\"b": { load: () => import("/x\\"; evil(); \\""), "export_name":"g","description":"line\\nbreak","context":null },',
    "};",
    'export const store = { index: { load: () => import("/\\"; evil(); \\""), "export_name":"\\"e","dims":2,"fields":["\\"f"] }, ' +
      'ttl: {"default_ms":null,"refresh_on_read":true} };',
    "export const auth = null;",
    "export const app = null;",
    "",
  ]);
});

test("a package that unpacks to more than its limit is refused while it is read", async () => {
  const packed = await tarball({ "package/a.js": "a".repeat(200_000) });
  await expect(packPackage(packed, 100_000)).rejects.toThrow("too large unpacked");
  const zeros = gzipSync(Buffer.alloc(20 * 1024 * 1024));
  await expect(packPackage(zeros, 1024 * 1024)).rejects.toThrow("too large unpacked");
});

test("a package that is too large to be unpacked beside others is installed", async () => {
  const packed = await tarball({ "package/a.js": "a".repeat(9 * 1024 * 1024) });
  const found = await sha512(packed);
  await storage().writeTarball(found, packed.byteLength, new Blob([packed]).stream());
  const integrity = `sha512-${Buffer.from(found.hex, "hex").toString("base64")}`;
  const { install, installed } = installer(
    storage(),
    { allow_private: false },
    buildLog({ log: async () => undefined }),
  );
  const url = "https://registry.invalid/a.tgz";
  await install([
    { path: "/node_modules/large", name: "large", version: "1.0.0", integrity, needs: [], url },
  ]);
  expect(installed.get("/node_modules/large")?.files().get("a.js")?.byteLength).toBe(
    9 * 1024 * 1024,
  );
});
