import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Metafile } from "esbuild";

const FILES = "dist/assets/console/assets";
const PAGE = /pages\/([^/]+)\/page\.tsx$/;

/** Bytes after gzip. */
export type ConsoleSizes = {
  /** Name of the script that the document loads. */
  entry: string;
  /** The script and all that it imports, which are loaded before any page. */
  initial: number;
  styles: number;
  /** Bytes of each page beyond `initial`. */
  pages: Record<string, number>;
};

const MAX_INITIAL = 125_000;
const MAX_STYLES = 15_000;
const MAX_PAGE = 40_000;
/** The page that streams runs and lays out a graph is larger. */
const CHAT = { page: "playground", max: 140_000 };

/** Returns a sentence for each size that is too large. */
export function sizeProblems({ initial, styles, pages }: ConsoleSizes): string[] {
  const measured: [what: string, bytes: number, max: number][] = [
    ["before the first page", initial, MAX_INITIAL],
    ["of styles", styles, MAX_STYLES],
    ...Object.entries(pages).map(([page, bytes]): [string, number, number] => {
      return [`of the page ${page}`, bytes, page === CHAT.page ? CHAT.max : MAX_PAGE];
    }),
  ];
  return measured
    .filter(([, bytes, max]) => bytes > max)
    .map(([what, bytes, max]) => `${bytes} bytes ${what}, gzipped: at most ${max}`);
}

/** Reads what the last build of the console wrote. */
export async function readConsoleSizes(): Promise<ConsoleSizes> {
  const { outputs } = JSON.parse(await readFile("dist/console-meta.json", "utf8")) as Metafile;
  const entries = Object.entries(outputs);
  const main = entries.find(([, { entryPoint }]) => entryPoint === "src/console/main.tsx");
  const initial = closureOf(outputs, main?.[0] ?? "");
  const pages: Record<string, number> = {};
  for (const [path, { entryPoint = "" }] of entries) {
    const name = PAGE.exec(entryPoint)?.[1];
    if (name === undefined) continue;
    const own = [...closureOf(outputs, path)].filter((file) => !initial.has(file));
    pages[name] = await gzippedBytes(own);
  }
  const html = await readFile("dist/assets/console/index.html", "utf8");
  const style = /console-\w+\.css/.exec(html)?.[0] ?? "";
  const entry = basename(main?.[0] ?? "");
  return {
    entry,
    initial: await gzippedBytes(initial),
    styles: await gzippedBytes([style]),
    pages,
  };
}

/** Returns a file and all that it imports before it runs. */
function closureOf(
  outputs: Metafile["outputs"],
  path: string,
  found = new Set<string>(),
): Set<string> {
  if (found.has(path)) return found;
  found.add(path);
  for (const { path: next, kind } of outputs[path]?.imports ?? []) {
    if (kind === "import-statement") closureOf(outputs, next, found);
  }
  return found;
}

async function gzippedBytes(names: Iterable<string>): Promise<number> {
  const sizes = [...names].map(
    async (name) => gzipSync(await readFile(join(FILES, basename(name)))).byteLength,
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
