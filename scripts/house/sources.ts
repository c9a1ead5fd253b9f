import { glob, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** A file of `src` or `local` and what it imports, types included. Paths are relative to the repository. */
export type Source = { path: string; text: string; files: string[]; packages: string[] };

const IMPORT = /^(?:import|export)\s(?:[^;"']*?\sfrom\s)?"([^"]+)"/gm;

export async function readSources(): Promise<Source[]> {
  const sources: Source[] = [];
  for await (const path of glob("{src,local}/**/*.{ts,tsx}")) {
    const text = await readFile(path, "utf8");
    const names = [...text.matchAll(IMPORT)].map(([, name = ""]) => name);
    const relative = names.filter((name) => name.startsWith("."));
    const files = relative.map((name) => join(dirname(path), name));
    const packages = names.filter((name) => !name.startsWith("."));
    sources.push({ path, text, files, packages });
  }
  return sources.sort((one, other) => one.path.localeCompare(other.path));
}

/** Returns the tests and their support, without fixtures. */
export async function readTests(): Promise<{ path: string; text: string }[]> {
  const tests = [];
  for await (const path of glob("test/**/*.ts", {
    exclude: ["**/node_modules/**", "test/fixtures/**"],
  })) {
    tests.push({ path, text: await readFile(path, "utf8") });
  }
  return tests.sort((one, other) => one.path.localeCompare(other.path));
}

/** Folders of features. Every other folder of `src` is one feature. */
const GROUPS = ["control-plane", "agent-server"];

/** Returns the feature that a file belongs to, or `null` for files that wire the Worker or run around it. */
export function featureOf(path: string): string | null {
  if (!path.startsWith("src/")) return null;
  const folders = path.split("/").slice(1, -1);
  return folders.find((folder) => !GROUPS.includes(folder)) ?? null;
}

export function folderOf({ path }: Source): string {
  return dirname(path);
}

export function filesOf(sources: readonly Source[]): Map<string, string[]> {
  return new Map(sources.map(({ path, files }) => [path, files]));
}

export function foldersOf(sources: readonly Source[]): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>();
  for (const source of sources) {
    const targets = graph.get(folderOf(source)) ?? new Set();
    for (const file of source.files) targets.add(dirname(file));
    graph.set(folderOf(source), targets);
  }
  return graph;
}

export function countBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}

const EXPORTED_TYPE = /^export (?:type|interface|class) ([A-Z]\w*)/gm;

/** Returns names that two files of `src` export as a type, with the files. The isolate is another program. */
export function ambiguousTypes(sources: readonly Source[]): string[] {
  const files = new Map<string, string[]>();
  for (const { path, text } of sources) {
    if (!path.startsWith("src/") || featureOf(path) === "isolate") continue;
    for (const [, name = ""] of text.matchAll(EXPORTED_TYPE)) {
      files.set(name, [...(files.get(name) ?? []), path]);
    }
  }
  return [...files]
    .filter(([, paths]) => paths.length > 1)
    .map(([name, paths]) => `${name}: ${paths.join(", ")}`);
}
