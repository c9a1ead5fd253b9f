import { glob, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** A file of `src` and what it imports, types included. Paths are relative to the repository. */
export type Source = { path: string; text: string; files: string[]; packages: string[] };

const IMPORT = /^(?:import|export)\s(?:[^;"']*?\sfrom\s)?"([^"]+)"/gm;

export async function readSources(): Promise<Source[]> {
  const sources: Source[] = [];
  for await (const path of glob("src/**/*.ts")) {
    const text = await readFile(path, "utf8");
    const names = [...text.matchAll(IMPORT)].map(([, name = ""]) => name);
    const relative = names.filter((name) => name.startsWith("."));
    const files = relative.map((name) => join(dirname(path), name));
    const packages = names.filter((name) => !name.startsWith("."));
    sources.push({ path, text, files, packages });
  }
  return sources.sort((one, other) => one.path.localeCompare(other.path));
}

/** Folders of features. Every other folder of `src` is one feature. */
const GROUPS = ["control-plane", "agent-server"];

/** Returns the feature that a file of `src` belongs to, or `null` for the files that wire the Worker. */
export function featureOf(path: string): string | null {
  const folders = path.split("/").slice(1, -1);
  return folders.find((folder) => !GROUPS.includes(folder)) ?? null;
}
