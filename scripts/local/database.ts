import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { newApiKey } from "../../src/workspaces/keys.ts";
import { type Folder, keep, writeWhole } from "./folder.ts";
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

/** The key is told once and stored as a hash, so it is kept beside the database. */
async function createFirstWorkspace(folder: Folder): Promise<void> {
  if (folder.kept.api_key !== null) return;
  const [organization_id, tenant_id, key_id] = [randomUUID(), randomUUID(), randomUUID()];
  const { api_key, sha256, prefix } = newApiKey("service");
  const now = new Date().toISOString();
  const file = join(folder.path, "first-workspace.sql");
  await writeWhole(
    file,
    `INSERT INTO organizations (id, name, plan, created_at) VALUES ('${organization_id}', 'local', 'enterprise', '${now}');
INSERT INTO workspaces (id, organization_id, name, created_at) VALUES ('${tenant_id}', '${organization_id}', 'local', '${now}');
INSERT INTO api_keys (id, sha256, prefix, kind, organization_id, workspace_id, role, created_at) VALUES ('${key_id}', '${sha256}', '${prefix}', 'service', '${organization_id}', '${tenant_id}', 'admin', '${now}');
`,
  );
  await runWrangler(folder.path, ["d1", "execute", "DB", "--file", file]);
  await rm(file, { force: true });
  await keep(folder, { tenant_id, api_key });
}
