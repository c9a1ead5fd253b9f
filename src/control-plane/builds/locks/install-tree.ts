import { directoryOf } from "../paths.ts";
import type { Tarball } from "./tarball-url.ts";

export type Manifest = {
  name?: string;
  version?: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
  overrides?: Record<string, unknown>;
  resolutions?: Record<string, string>;
  pnpm?: unknown;
  packageManager?: unknown;
  workspaces?: unknown;
};

/** An installed package. `path` is absolute in the source. */
export type Package = Tarball & {
  path: string;
  name: string;
  version: string;
  /** Hashes in the form of lockfiles, or `REGISTRY_INTEGRITY`. */
  integrity: string | undefined;
  /** Names it may import: dependencies, optional and peer ones. */
  needs: string[];
  /** Set when only optional dependencies need it. It is left out if its package.json restricts it to an OS or a CPU. */
  is_optional?: boolean;
};

/** Value for lockfiles of Yarn 2 and newer: their checksums are of Yarn's archives, so the registry's hash is used. */
export const REGISTRY_INTEGRITY = "registry";

/** The packages to install, by path. A link, also by its path, leads to a folder of the source. */
export type Install = {
  packages: Map<string, Package>;
  links: Map<string, string>;
  /** Version ranges that override those of package.json, by package selector. Only pnpm-lock.yaml has them. */
  overrides?: Record<string, string>;
};

export function dependencyNames(manifest: Manifest): string[] {
  return Object.keys({
    ...manifest.dependencies,
    ...manifest.optionalDependencies,
    ...manifest.peerDependencies,
  });
}

/**
 * Resolves an import of `name` from `directory` by Node's walk. @returns the path of the package, or the folder of the
 * source that a link leads to; `null` when neither is found
 */
export function findPackage(install: Install, directory: string, name: string): string | null {
  for (let at = directory === "/" ? "" : directory; ; at = directoryOf(at)) {
    const path = `${at}/node_modules/${name}`;
    const link = install.links.get(path);
    if (link !== undefined) return link;
    if (install.packages.has(path)) return path;
    if (at === "") return null;
  }
}

/** Returns the paths of `names` and of their dependencies. Stops at provided packages and at links, and omits both. */
export function reachable(
  install: Install,
  directory: string,
  names: string[],
  isProvided: (path: string) => boolean = () => false,
): Set<string> {
  const found = new Set<string>();
  const waiting = names.map((name) => ({ from: directory, name }));
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const path = findPackage(install, next.from, next.name);
    if (path === null || found.has(path) || isProvided(path)) continue;
    found.add(path);
    const names = install.packages.get(path)?.needs ?? [];
    waiting.push(...names.map((name) => ({ from: path, name })));
  }
  return new Set([...found].filter((path) => install.packages.has(path)));
}
