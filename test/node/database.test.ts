import { cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { prepareDatabase } from "../../local/database.ts";

const BINDINGS = { DB: "local" };
const LATER = "9000_add_color.sql";

let dir: string;
let migrations: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "heddle-database-"));
  migrations = join(dir, "migrations");
  await cp("migrations", migrations, { recursive: true });
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function query(sql: string) {
  const folder = join(dir, "state/v3/d1/miniflare-D1DatabaseObject");
  const files = await readdir(folder);
  const name = files.find((file) => /^[0-9a-f]{64}\.sqlite$/.test(file)) ?? "";
  const database = new DatabaseSync(join(folder, name));
  const rows = database.prepare(sql).all();
  database.close();
  return rows;
}

const prepare = (needs_workspace: boolean) =>
  prepareDatabase(dir, BINDINGS, needs_workspace, migrations);

test("the local stack's database is created with a workspace, and migrated forward", async () => {
  const made = await prepare(true);
  expect(await query("SELECT id, name FROM workspaces")).toEqual([
    { id: made?.tenant_id, name: "local" },
  ]);
  const failing =
    "ALTER TABLE workspaces ADD color text;--> statement-breakpoint\nDROP TABLE none;";
  await writeFile(join(migrations, LATER), failing);
  await expect(prepare(false)).rejects.toThrow(/no such table/);
  await writeFile(join(migrations, LATER), "ALTER TABLE workspaces ADD color text DEFAULT 'red';");
  expect(await prepare(false)).toBeNull();
  expect(await query("SELECT name, color FROM workspaces")).toEqual([
    { name: "local", color: "red" },
  ]);
  const applied = (await query("SELECT name FROM d1_migrations ORDER BY id")).map(
    ({ name }) => name,
  );
  expect(applied.slice(-1)).toEqual([LATER]);
  expect(await prepare(false)).toBeNull();
  await rm(join(migrations, LATER));
  // The version before, after a rollback.
  expect(await prepare(false)).toBeNull();
  await writeFile(join(migrations, "9999_of_another_line.sql"), "SELECT 1;");
  await expect(prepare(false)).rejects.toThrow(`has the migration ${LATER}`);
});
