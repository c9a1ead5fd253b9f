import { existsSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Folder, writeWhole } from "./folder.ts";
import { createFirstWorkspace } from "./workspace.ts";
import { runWrangler } from "./wrangler.ts";

const MIGRATIONS = join(import.meta.dirname, "../../migrations");

/** Each call of wrangler takes seconds: a new database takes one, one that is up to date none. */
export async function prepareDatabase(folder: Folder): Promise<void> {
  const state = join(folder.path, "state");
  const applied = join(state, "migrations.json");
  const names = (await readdir(MIGRATIONS)).filter((name) => name.endsWith(".sql")).sort();
  if (!existsSync(applied)) {
    await rm(state, { recursive: true, force: true });
    await createFirstWorkspace(folder, await schemaSql(names));
  } else if (JSON.stringify(names) !== (await readFile(applied, "utf8"))) {
    await runWrangler(folder.path, ["d1", "migrations", "apply", "DB"], folder.kept.region);
  }
  await writeWhole(applied, JSON.stringify(names));
}

/** All migrations, and wrangler's own record of them, so that it applies only the later ones. */
async function schemaSql(names: string[]): Promise<string> {
  const migrations = await Promise.all(
    names.map((name) => readFile(join(MIGRATIONS, name), "utf8")),
  );
  return [
    ...migrations,
    "CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL);",
    ...names.map((name) => `INSERT INTO d1_migrations (name) VALUES ('${name}');`),
  ].join("\n");
}
