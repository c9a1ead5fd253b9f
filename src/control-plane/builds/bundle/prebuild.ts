import { gzipSync } from "node:zlib";
import { buildLog } from "../build-log.ts";
import type { PackageStore, PrebuildOrder } from "../contract.ts";
import { BuildFailure } from "../failure.ts";
import { reachable } from "../locks/install-tree.ts";
import { installer } from "../packages/install.ts";
import { resolveInstall } from "../packages/registry.ts";
import { entryFile, SHARED_PACKAGES, specifiersOf, toUnit } from "../prebuilt/unit.ts";
import { isBuiltin } from "../resolve/builtins.ts";
import { createDisk } from "../resolve/disk.ts";
import { createResolver } from "../resolve/resolver.ts";
import { readTsConfig } from "../resolve/tsconfig.ts";
import { emptyTree } from "../tree.ts";
import { bundleUnit } from "./bundle.ts";
import { AGENT_LOADERS } from "./loads.ts";
import { heddlePlugin } from "./plugin.ts";

/** Builds the unit of one version from the registry alone, because other agents get it: lockfiles are untrusted. */
export async function prebuildPackage(
  storage: PackageStore,
  order: PrebuildOrder,
): Promise<Uint8Array> {
  const { name, version, registry_url } = order;
  const path = `/node_modules/${name}`;
  const shared = SHARED_PACKAGES.filter((other) => other !== name);
  const provided = new Set(shared.map((other) => `/node_modules/${other}`));
  const options = { policy: order, registry_url, preferred: {}, skipped: shared };
  const install = await resolveInstall(options, "", [
    { folder: "", manifest: { dependencies: { [name]: version } } },
  ]);
  const packages = installer(storage, order, buildLog({ log: async () => undefined }));
  const paths = reachable(install, "", [name], (at) => provided.has(at));
  await packages.install([...paths].flatMap((at) => install.packages.get(at) ?? []));
  const files = createDisk(emptyTree(), install, packages.installed);
  const specifiers = specifiersOf(name, files.manifest(path)?.exports);
  const resolver = { disk: files, tsconfig: readTsConfig("", files), isBuiltin };
  const bundled = await bundleUnit(
    name,
    specifiers,
    heddlePlugin({
      disk: files,
      resolve: createResolver({ ...resolver, provided }),
      resolveInstalled: createResolver({ ...resolver, provided: new Set() }),
      providedModule: (specifier) => `./${entryFile(specifier)}`,
      virtual: {},
      loaders: AGENT_LOADERS,
      dependencies: [],
      missing: new Set(),
    }),
  );
  if (!bundled.ok) throw new BuildFailure("bundle_failed", bundled.errors.join("\n"));
  const integrity = install.packages.get(path)?.integrity ?? null;
  const unit = toUnit(
    { name, version, integrity },
    specifiers,
    bundled.outputFiles,
    bundled.outputs,
  );
  return gzipSync(JSON.stringify(unit));
}
