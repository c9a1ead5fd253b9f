import { splitPackagePath } from "./disk.ts";

/** Compiled files by their extension, with those of their sources. */
const SOURCES: Record<string, string[]> = {
  ".js": [".ts", ".tsx", ".js", ".jsx"],
  ".mjs": [".mts", ".ts", ".tsx", ".mjs", ".js"],
  ".cjs": [".cts", ".ts", ".tsx", ".cjs", ".js"],
};
const EXTENSION = /\.[cm]?js$/;
/** Such as dist/esm/node. */
const MAX_OUTPUT_FOLDERS = 3;

/**
 * Returns the source of a file that the build script of a linked package would write, `null` if none is found: no
 * script runs. dist/a/b.js is made of src/a/b.ts, and dist/esm/b.js of src/b.ts.
 */
export function findSourceOf(
  absent: string,
  home: string,
  exists: (path: string) => boolean,
): string | null {
  const extension = EXTENSION.exec(absent)?.[0];
  if (extension === undefined || splitPackagePath(home) !== null) return null;
  const names = absent.slice(home.length + 1, -extension.length).split("/");
  const most = Math.min(MAX_OUTPUT_FOLDERS, names.length - 1);
  const rests = Array.from({ length: most }, (_, n) => names.slice(n + 1).join("/"));
  const candidates = rests.flatMap((rest) =>
    ["src/", ""].flatMap((folder) =>
      (SOURCES[extension] ?? []).map((ending) => `${home}/${folder}${rest}${ending}`),
    ),
  );
  return candidates.find(exists) ?? null;
}
