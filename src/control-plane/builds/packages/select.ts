import { gunzipSync } from "node:zlib";
import type { BuildStore } from "../contract.ts";
import {
  findPackage,
  type Install,
  type Package,
  REGISTRY_INTEGRITY,
} from "../locks/install-tree.ts";
import {
  mergeUnits,
  PREBUILT_PACKAGES,
  type PrebuiltUnit,
  type Runtime,
  SHARED_PACKAGES,
} from "../prebuilt/unit.ts";

type Units = Pick<BuildStore, "readPrebuilt">;

export type Selection = {
  runtime: Runtime;
  /** Paths of the installed packages that prebuilt modules replace. */
  provided: Set<string>;
  /** Shared packages without a unit of their integrity, as `name version`. */
  lacking: string[];
};

/**
 * Selects the units of the agent's packages: units of exactly the installed versions for all shared packages, or none.
 * Other packages are prebuilt when package.json names them and their unit exists.
 */
export async function selectPrebuilt(
  units: Units,
  install: Install,
  directory: string,
  named: string[],
): Promise<Selection> {
  const shared = placeShared(install, directory);
  if (shared === null) return { runtime: mergeUnits([]), provided: new Set(), lacking: [] };
  const others = PREBUILT_PACKAGES.filter((name) => !SHARED_PACKAGES.includes(name)).flatMap(
    (name) => (named.includes(name) ? (packageOf(install, directory, name) ?? []) : []),
  );
  const [ofShared, ofOthers] = await Promise.all([
    Promise.all(shared.map((item) => readUnit(units, item))),
    Promise.all(others.map((item) => readUnit(units, item))),
  ]);
  const lacking = shared.filter((_, n) => ofShared[n] === null).map(labelOf);
  if (lacking.length > 0) return { runtime: mergeUnits([]), provided: new Set(), lacking };
  const found = [...shared, ...others].flatMap((item, n) => {
    const unit = [...ofShared, ...ofOthers][n];
    return unit ? [{ path: item.path, unit }] : [];
  });
  return {
    runtime: mergeUnits(found.map(({ unit }) => unit)),
    provided: new Set(found.map(({ path }) => path)),
    lacking: [],
  };
}

/**
 * @returns `null` when a shared package is a link or an alias, or resolves another one to a different copy than the agent
 * does
 */
function placeShared(install: Install, directory: string): Package[] | null {
  const paths = SHARED_PACKAGES.flatMap((name) => {
    const path = findPackage(install, directory, name);
    return path === null ? [] : [[name, path] as const];
  });
  const isFlat = paths.every(([, from]) =>
    paths.every(([name, path]) => findPackage(install, from, name) === path),
  );
  const packages = paths.map(([name]) => packageOf(install, directory, name));
  return isFlat && packages.every((item) => item !== null) ? packages : null;
}

/** @returns `null` for a link, and for another package under this name (an alias) */
function packageOf(install: Install, directory: string, name: string): Package | null {
  const item = install.packages.get(findPackage(install, directory, name) ?? "");
  return item?.name === name ? item : null;
}

/** @returns `null` without a unit, and for a unit that was built from a tarball with another integrity */
async function readUnit(
  units: Units,
  { name, version, integrity }: Package,
): Promise<PrebuiltUnit | null> {
  const stream = await units.readPrebuilt(name, version);
  if (stream === null) return null;
  const bytes = gunzipSync(await new Response(stream).bytes());
  const unit = JSON.parse(new TextDecoder().decode(bytes)) as PrebuiltUnit;
  const isSame =
    integrity === undefined || integrity === REGISTRY_INTEGRITY || integrity === unit.integrity;
  return isSame ? unit : null;
}

function labelOf({ name, version }: Package): string {
  return `${name} ${version}`;
}
