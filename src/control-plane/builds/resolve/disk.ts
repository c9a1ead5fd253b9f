import type { Install } from "../locks/install-tree.ts";
import type { PackageFiles } from "../packages/package-files.ts";
import { type PackageManifest, parseManifest } from "../packages/package-manifest.ts";
import type { Tree } from "../tree.ts";

/** Source and packages as one file system with absolute paths, for the resolver and the bundler. */
export type Disk = {
  read(path: string): Uint8Array | null;
  /** Also true for files of the source that a bundle cannot hold. */
  has(path: string): boolean;
  manifest(directory: string): PackageManifest | null;
  isInstalled(directory: string): boolean;
  /** Returns whether the lockfile has a package in this directory that is not fetched yet. */
  isMissing(directory: string): boolean;
  /** Target of a link of a package or of the source. */
  link(path: string): string | null;
};

const PACKAGE_NAME = /^(?:@[^/]+\/)?[^/]+/;

/** Splits a path into the directory of the innermost package and the path inside it. */
export function splitPackagePath(path: string): { directory: string; rest: string } | null {
  const marker = "/node_modules/";
  const start = path.lastIndexOf(marker) + marker.length;
  const name = start < marker.length ? undefined : PACKAGE_NAME.exec(path.slice(start))?.[0];
  if (name === undefined) return null;
  const end = start + name.length;
  return { directory: path.slice(0, end), rest: path.slice(end + 1) };
}

export function createDisk(
  tree: Tree,
  install: Install,
  installed: Map<string, PackageFiles>,
): Disk {
  const manifests = new Map<string, PackageManifest | null>();
  const read = (path: string): Uint8Array | null => {
    const home = homeOf(path, installed);
    if (home !== null) {
      const files = installed.get(home)?.files();
      return files?.get(path.slice(home.length + 1)) ?? null;
    }
    return splitPackagePath(path) ? null : (tree.files.get(path.slice(1)) ?? null);
  };
  const manifest = (directory: string) => {
    const known = manifests.get(directory);
    if (known !== undefined) return known;
    const found = parseManifest(read(`${directory}/package.json`));
    manifests.set(directory, found);
    return found;
  };
  return {
    read,
    has: (path) => read(path) !== null || tree.others.has(path.slice(1)),
    manifest,
    isInstalled: (directory) => installed.has(directory) || manifest(directory) !== null,
    isMissing: (directory) => install.packages.has(directory) && !installed.has(directory),
    link(path) {
      const target = tree.links.get(path.slice(1));
      return install.links.get(path) ?? (target === undefined ? null : `/${target}`);
    },
  };
}

/** Returns the directory of the package whose tarball has the path: the innermost one that is installed. */
function homeOf(path: string, installed: Map<string, PackageFiles>): string | null {
  for (let inside = splitPackagePath(path); inside !== null; ) {
    if (installed.has(inside.directory)) return inside.directory;
    const outer = inside.directory.slice(0, inside.directory.lastIndexOf("/node_modules/"));
    inside = splitPackagePath(outer);
  }
  return null;
}
