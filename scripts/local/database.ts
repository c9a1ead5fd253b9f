import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Folder, writeWhole } from "./folder.ts";
import { createFirstWorkspace } from "./workspace.ts";
import { runWrangler } from "./wrangler.ts";

const MIGRATIONS = join(import.meta.dirname, "../../migrations");

export async function prepareDatabase(folder: Folder): Promise<void> {
  await migrate(folder.path);
  await createFirstWorkspace(folder);
}

/** Asking wrangler takes seconds, so the names of what was applied stand beside the database. */
async function migrate(path: string): Promise<void> {
  const applied = join(path, "state", "migrations.json");
  const names = (await readdir(MIGRATIONS, { recursive: true })).sort();
  const text = JSON.stringify(names);
  if (existsSync(applied) && (await readFile(applied, "utf8")) === text) return;
  await runWrangler(path, ["d1", "migrations", "apply", "DB"]);
  await writeWhole(applied, text);
}
