import { ancestors, directoryOf } from "../paths.ts";
import { type Disk, splitPackagePath } from "../resolve/disk.ts";

/**
 * esbuild gives default imports of CommonJS as Node does to files of these endings, or by the package.json that it
 * finds. It finds none, so files below `"type": "module"` have the ending added to their paths.
 */
const MARK = ".node.mts";

/** @returns the path of a file for esbuild */
export function markedPath(disk: Disk, path: string): string {
  return /\.[jt]sx?$/.test(path) && isModule(disk, path) ? path + MARK : path;
}

/** @returns the path of the file that esbuild knows by `marked` */
export function unmarkedPath(marked: string): string {
  return marked.endsWith(MARK) ? marked.slice(0, -MARK.length) : marked;
}

/** The nearest package.json counts, within the package. */
function isModule(disk: Disk, path: string): boolean {
  for (const folder of ancestors(directoryOf(path))) {
    const manifest = disk.manifest(folder);
    if (manifest !== null) return manifest.type === "module";
    if (splitPackagePath(folder)?.rest === "") return false;
  }
  return false;
}
