import { maxSatisfying, satisfies, validRange } from "semver";
import { decodeBytes, encodeBytes } from "../../../shared/crypto/encoding.ts";
import type { EgressPolicy } from "../../../shared/egress/egress.ts";
import { assertPackageCount, type BuildFailure, unresolved } from "../failure.ts";
import {
  dependencyNames,
  findPackage,
  type Install,
  type Manifest,
  type Package,
} from "../locks/install-tree.ts";
import { registryTarball } from "../locks/tarball-url.ts";
import { joinPath } from "../paths.ts";
import type { Importer } from "./importers.ts";
import type { Overrides, Parent } from "./overrides.ts";
import { fetchPackument, type Packument, type Release } from "./packument.ts";

/** Chooses versions without a lockfile: breadth first, flat, nested where two requirements conflict. */

/**
 * `from` is the folder of the package or importer with the requirement, `by` its name for errors, and `parents` the
 * packages that lead to it.
 */
type Requirement = {
  name: string;
  range: string;
  from: string;
  parents: Parent[];
  by: string;
  is_optional: boolean;
};

type ResolveOptions = {
  policy: EgressPolicy;
  registry_url: string;
  /** Versions to take where the range allows, the best first: the prebuilt ones. */
  preferred: Record<string, string[]>;
  /** Names of packages to leave out. */
  skipped?: string[];
};

export async function resolveInstall(
  options: ResolveOptions,
  directory: string,
  importers: Importer[],
  { replace }: Pick<Overrides, "replace"> = { replace: ({ range }) => range },
): Promise<Install> {
  const install: Install = { packages: new Map(), links: new Map() };
  const packuments = new Map<string, Promise<Packument | null>>();
  const load = (name: string) => {
    const known = packuments.get(name) ?? fetchPackument(options, name);
    packuments.set(name, known);
    return known;
  };
  const root = importers.length > 1 ? "" : directory;
  const isWanted = ({ name }: Requirement) => !options.skipped?.includes(name);
  // Outer folders first: a package of an inner one is nested where the outer one has another version.
  const outermostFirst = importers.toSorted((a, b) => a.folder.length - b.folder.length);
  let requirements = outermostFirst.flatMap(({ folder, manifest }) =>
    requirementsOf(manifest, folder, joinPath(folder.slice(1), "package.json"), []),
  );
  while (requirements.length > 0) {
    const wanted = requirements.filter(isWanted).flatMap((requirement) => {
      const range = replace(requirement);
      return range === null ? [] : { ...requirement, range };
    });
    for (const requirement of wanted) load(aliasOf(requirement).name).catch(() => undefined);
    requirements = [];
    for (const requirement of wanted)
      requirements.push(...(await place(options, install, root, requirement, load)));
    assertPackageCount(install.packages.size);
  }
  return install;
}

type Load = (name: string) => Promise<Packument | null>;

/** Installs a requirement unless a matching version is visible. @returns the requirements of the new package */
async function place(
  options: ResolveOptions,
  install: Install,
  root: string,
  requirement: Requirement,
  load: Load,
): Promise<Requirement[]> {
  const { name, range } = aliasOf(requirement);
  const nearest = install.packages.get(
    findPackage(install, requirement.from, requirement.name) ?? "",
  );
  if (nearest && fits(nearest.version, range)) return [];
  const chosen = select(await load(name), range, options.preferred[name], requirement);
  if (chosen === null) return [];
  const [version, release] = chosen;
  const path = `${nearest ? requirement.from : root}/node_modules/${requirement.name}`;
  install.packages.set(path, toPackage(options, path, name, version, release));
  const parents = [...requirement.parents, { name, version }];
  return requirementsOf(release, path, `${name}@${version}`, parents);
}

/** @returns `null` for an optional package that has no matching version, or is a native addon */
function select(
  packument: Packument | null,
  range: string,
  preferred: string[] | undefined,
  requirement: Requirement,
): [string, Release] | null {
  const version = packument === null ? null : choose(packument, range, preferred);
  const release = version === null ? undefined : packument?.versions?.[version];
  if (version === null || release === undefined) {
    if (requirement.is_optional) return null;
    throw noVersion(requirement, packument);
  }
  return requirement.is_optional && (release.os || release.cpu) ? null : [version, release];
}

function fits(version: string, range: string): boolean {
  return validRange(range) === null || satisfies(version, range, { includePrerelease: false });
}

function requirementsOf(
  manifest: Manifest,
  from: string,
  by: string,
  parents: Parent[],
): Requirement[] {
  const {
    dependencies = {},
    optionalDependencies = {},
    peerDependencies = {},
    peerDependenciesMeta = {},
  } = manifest;
  const required = Object.entries({ ...dependencies }).filter(
    ([name]) => !(name in optionalDependencies),
  );
  const peers = Object.entries(peerDependencies).filter(
    ([name]) => !peerDependenciesMeta[name]?.optional,
  );
  const toRequirement =
    (is_optional: boolean) =>
    ([name, range]: [string, string]) => ({ name, range, from, parents, by, is_optional });
  return [
    ...required.map(toRequirement(false)),
    ...peers.map(toRequirement(false)),
    ...Object.entries(optionalDependencies).map(toRequirement(true)),
  ];
}

/** Returns the package to install. `npm:other@^1` installs another package under the name of the requirement. */
function aliasOf({ name, range, by }: Requirement): { name: string; range: string } {
  // yarn writes the protocol before plain ranges too.
  const plain = range.replace(/^npm:/, "");
  if (validRange(plain) !== null) return { name, range: plain };
  const alias = /^npm:((?:@[^/]+\/)?[^@]+)(?:@(.+))?$/.exec(range);
  if (alias) return { name: alias[1] ?? name, range: alias[2] ?? "*" };
  if (/^[a-z][a-z+]*:|^[\w.-]+\/[\w.-]+|^git@/.test(range)) {
    const text = `${by} requires ${name} from "${range}"; without a lockfile Heddle installs packages of the registry only. Commit a lockfile, or name a version.`;
    throw unresolved(text);
  }
  return { name, range };
}

/**
 * Chooses the version of a dist-tag. For a range, chooses the first that fits of: the preferred versions, `latest`, the
 * highest version that is not deprecated, the highest one.
 */
function choose(
  packument: Packument,
  range: string,
  preferred: string[] | undefined,
): string | null {
  const versions = packument.versions ?? {};
  const tags = packument["dist-tags"] ?? {};
  const tagged = tags[range];
  if (tagged !== undefined) return tagged;
  for (const candidate of [...(preferred ?? []), tags.latest]) {
    if (candidate !== undefined && candidate in versions && satisfies(candidate, range))
      return candidate;
  }
  const living = Object.keys(versions).filter(
    (version) => versions[version]?.deprecated === undefined,
  );
  return maxSatisfying(living, range) ?? maxSatisfying(Object.keys(versions), range);
}

function toPackage(
  { registry_url }: ResolveOptions,
  path: string,
  name: string,
  version: string,
  release: Release,
): Package {
  const { integrity, shasum } = release.dist ?? {};
  const sha1 =
    shasum === undefined ? undefined : `sha1-${encodeBytes(decodeBytes(shasum, "hex"), "base64")}`;
  const requirements = dependencyNames(release);
  return {
    path,
    name,
    version,
    url: registryTarball(registry_url, name, version),
    integrity: integrity ?? sha1,
    needs: requirements,
  };
}

function noVersion({ name, range, by }: Requirement, packument: Packument | null): BuildFailure {
  const newest = packument?.["dist-tags"]?.latest;
  const why =
    packument === null
      ? "the registry does not have it"
      : `no version fits${newest === undefined ? "" : `; the newest is ${newest}`}`;
  return unresolved(`${by} requires ${name}@${range}: ${why}.`);
}
