import { isRecord } from "../../../shared/guards.ts";
import { isShallow } from "../../../shared/http/depth.ts";
import { JSON_BYTES, MANIFEST_STARS } from "../limits.ts";
import type { Install, Manifest } from "../locks/install-tree.ts";
import type { PackageFiles } from "../packages/package-files.ts";
import type { Tree } from "../tree.ts";

/** Source and packages as one file system with absolute paths, for the resolver and the bundler. */
export type Disk = {
  read(path: string): Uint8Array | null;
  /** Also true for files of the source that a bundle cannot hold. */
  has(path: string): boolean;
  manifest(directory: string): PackageManifest | null;
  isInstalled(directory: string): boolean;
  /** Known to the lockfile, and not fetched so far. */
  isMissing(directory: string): boolean;
  /** Target of a link of a package or of the source. */
  link(path: string): string | null;
};

type PackageManifest = Manifest & {
  type?: unknown;
  main?: unknown;
  module?: unknown;
  exports?: unknown;
  imports?: unknown;
  sideEffects?: unknown;
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

function parseManifest(bytes: Uint8Array | null): PackageManifest | null {
  if (bytes === null || bytes.byteLength > JSON_BYTES.manifest) return null;
  try {
    const text = new TextDecoder().decode(bytes);
    const value: unknown = JSON.parse(text);
    const stars = text.split("*").length - 1;
    const isSafe = isShallow(value) && stars <= MANIFEST_STARS;
    return isRecord(value) && isSafe ? value : null;
  } catch {
    return null;
  }
}
