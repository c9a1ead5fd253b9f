import { splitPackagePath } from "./disk.ts";

/** Extensions of sources, by the extension of the compiled file. */
const SOURCES: Record<string, string[]> = {
  ".js": [".ts", ".tsx", ".js", ".jsx"],
  ".mjs": [".mts", ".ts", ".tsx", ".mjs", ".js"],
  ".cjs": [".cts", ".ts", ".tsx", ".cjs", ".js"],
};
const EXTENSION = /\.[cm]?js$/;
const OUTPUT = /^\.?(build|cjs|dist|es|esm|lib|out|output)$/;
/** Folders in an output folder, for a format or a platform. */
const FORMAT = /^(browser|cjs|commonjs|es|esm|lib|mjs|module|node|src)$/;

/**
 * Returns the source of a missing file that the build script of a linked package would write: builds run no scripts.
 * The source of dist/a/b.js may be src/a/b.ts or a/b.ts, that of dist/esm/b.js also src/b.ts.
 * @returns `null` if none exists
 */
export function findSourceOf(
  absent: string,
  home: string,
  exists: (path: string) => boolean,
): string | null {
  const extension = EXTENSION.exec(absent)?.[0];
  if (extension === undefined || splitPackagePath(home) !== null) return null;
  const names = absent.slice(home.length + 1, -extension.length).split("/");
  const candidates = withoutOutput(names).flatMap((rest) =>
    ["src/", ""].flatMap((folder) =>
      (SOURCES[extension] ?? []).map((ending) => `${home}/${folder}${rest}${ending}`),
    ),
  );
  return candidates.find(exists) ?? null;
}

/** Returns ["esm/a/b", "a/b"] for "dist/esm/a/b", and none for a file of another folder. */
function withoutOutput([output = "", ...names]: string[]): string[] {
  if (!OUTPUT.test(output)) return [];
  const isFormat = names.map((name) => FORMAT.test(name));
  const formats = names.length > 1 && isFormat[0] ? (names.length > 2 && isFormat[1] ? 2 : 1) : 0;
  return Array.from({ length: formats + 1 }, (_, n) => names.slice(n).join("/"));
}
