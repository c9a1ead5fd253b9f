import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { FILES } from "../regions.ts";

const ROOT = join(import.meta.dirname, "../..");
const FOLDERS = ["src", "dist"];

/** Returns a tag that is the hash of all files of the uploads. Equal sources are not uploaded again. */
export async function readVersion(): Promise<string> {
  const names = await Promise.all(FOLDERS.map(filesBelow));
  const hash = createHash("sha256");
  for (const name of [...FILES, "package-lock.json", ...names.flat().sort()]) {
    const digest = createHash("sha256").update(await readFile(join(ROOT, name)));
    hash.update(`${digest.digest("hex")} ${name}\n`);
  }
  return `heddle-${hash.digest("hex").slice(0, 16)}`;
}

export async function readMigrations(): Promise<string[]> {
  const names = await readdir(join(ROOT, "migrations"));
  return names.filter((name) => name.endsWith(".sql")).sort();
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1));
}
