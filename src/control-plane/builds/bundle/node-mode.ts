import { ancestors, directoryOf } from "../paths.ts";
import { type Disk, splitPackagePath } from "../resolve/disk.ts";

/**
 * Makes esbuild treat default imports of CommonJS as Node does. esbuild does so in files that end in .mts or .mjs, or
 * are below a package.json with `"type": "module"`. esbuild has no file system, so it finds no package.json. Files
 * below a package.json with this type get this ending instead.
 */
const MARK = ".node.mts";

/** @returns the path of a file for esbuild */
export function nodeModePath(disk: Disk, path: string): string {
  return /\.[jt]sx?$/.test(path) && isModule(disk, path) ? path + MARK : path;
}

/** @returns the path of the file that esbuild knows by `marked` */
export function plainPath(marked: string): string {
  return marked.endsWith(MARK) ? marked.slice(0, -MARK.length) : marked;
}

/** Returns whether the nearest package.json within the same package has `"type": "module"`. */
function isModule(disk: Disk, path: string): boolean {
  for (const folder of ancestors(directoryOf(path))) {
    const manifest = disk.manifest(folder);
    if (manifest !== null) return manifest.type === "module";
    if (splitPackagePath(folder)?.rest === "") return false;
  }
  return false;
}
