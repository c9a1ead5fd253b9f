import { readFileSync } from "node:fs";
import { satisfies, subset } from "semver";
import { describe, expect, test } from "vitest";

type Manifest = {
  version: string;
  engines: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
  allowScripts: Record<string, boolean>;
};
type Lockfile = { packages: Record<string, { hasInstallScript?: boolean }> };

const heddle = read("package.json") as Manifest;
const installed = (name: string) => read(`node_modules/${name}/package.json`) as Manifest;

describe("dependencies", () => {
  test("wrangler, miniflare and the vitest plugin are one release of workerd", () => {
    const [wrangler, miniflare] = [installed("wrangler"), installed("miniflare")];
    const plugin = installed("@cloudflare/vitest-plugin");

    expect(plugin.dependencies).toMatchObject({
      wrangler: wrangler.version,
      miniflare: miniflare.version,
    });
    expect(wrangler.dependencies).toMatchObject({
      miniflare: miniflare.version,
      workerd: installed("workerd").version,
    });
    expect(heddle.devDependencies).toMatchObject({
      wrangler: wrangler.version,
      miniflare: miniflare.version,
      "@cloudflare/vitest-plugin": plugin.version,
    });
    const types = installed("@cloudflare/workers-types").version;
    const range = wrangler.peerDependencies["@cloudflare/workers-types"] ?? "none";
    expect(satisfies(types, range), `${types} in ${range}`).toBe(true);
  });

  test.each(["vitest", "wrangler", "miniflare"])(
    "%s runs on every Node.js of engines, and on the one that npm scripts use",
    (name) => {
      const needed = installed(name).engines.node ?? "none";

      expect(subset(heddle.engines.node ?? "*", needed), needed).toBe(true);
      expect(satisfies(installed("node").version, needed), needed).toBe(true);
      expect(process.versions.node).toBe(installed("node").version);
    },
  );

  test("every package with an install script is approved or denied", () => {
    const { packages } = read("package-lock.json") as Lockfile;
    const scripted = Object.keys(packages).filter((path) => packages[path]?.hasInstallScript);
    const names = scripted.map((path) => path.slice(path.lastIndexOf("node_modules/") + 13));

    expect(Object.keys(heddle.allowScripts).sort()).toEqual([...new Set(names)].sort());
  });
});

function read(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}
