import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { unstable_splitSqlQuery } from "wrangler";
import { workspaceQuery, workspaceStatements } from "../scripts/workspace-sql.ts";
import { FIRST_WORKSPACE, type MadeWorkspace, toWorkspace } from "./workspace.ts";

type LegacyOptions = Parameters<typeof convertV4MiniflareOptions>[0];
type Database = Awaited<ReturnType<Miniflare["getD1Database"]>>;

const MIGRATIONS = join(import.meta.dirname, "../migrations");
/** The table in which wrangler records what it applied, so that its commands work on this database. */
const RECORD =
  "CREATE TABLE IF NOT EXISTS d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)";

/**
 * Applies missing migrations, and creates the first workspace if `needs_workspace`. All of it is one batch, which
 * succeeds or fails as a whole. Calls Miniflare directly because each command of wrangler takes seconds.
 * @returns `null` without `needs_workspace`
 */
export async function prepareDatabase(
  path: string,
  d1Databases: unknown,
  needs_workspace: boolean,
  folder = MIGRATIONS,
): Promise<MadeWorkspace | null> {
  // Files are read before the first statement: workerd ends a connection that has been idle for five seconds.
  const migrations = await readMigrations(folder);
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      resourcePersistencePath: join(path, "state/v3"),
      cf: false,
      telemetry: { enabled: false },
      ...{ name: "database", d1Databases, modules: true, script: "export default {}" },
    } as LegacyOptions),
  );
  try {
    const database = await miniflare.getD1Database("DB");
    const statements = await missingMigrations(database, migrations);
    if (!needs_workspace) {
      if (statements.length > 0) await runBatch(database, statements);
      return null;
    }
    const { sql, api_key } = workspaceStatements(FIRST_WORKSPACE);
    const query = workspaceQuery(FIRST_WORKSPACE);
    const results = await runBatch(database, [...statements, ...sql.split("\n"), query]);
    return { ...toWorkspace(results.at(-1)?.results[0]), api_key };
  } finally {
    await miniflare.dispose();
  }
}

/** A migration's statements, which end with the one that records it. */
type Migration = { name: string; statements: string[] };

async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  const migrations = names.map(async (name) => {
    const sql = await readFile(join(folder, name), "utf8");
    const record = `INSERT INTO d1_migrations (name) VALUES ('${name}')`;
    return { name, statements: [...unstable_splitSqlQuery(sql), record] };
  });
  return Promise.all(migrations);
}

/**
 * Returns the statements that the database lacks.
 * @throws Error when the database has a migration that is unknown here and older than the newest one here
 */
async function missingMigrations(database: Database, migrations: Migration[]): Promise<string[]> {
  await database.prepare(RECORD).run();
  const { results } = await database.prepare("SELECT name FROM d1_migrations").run();
  const applied = new Set(results.map(({ name }) => String(name)));
  const names = migrations.map(({ name }) => name);
  // Later migrations are allowed: a newer version only adds to the schema, so this version works after a rollback.
  const unknown = [...applied].find((name) => !names.includes(name) && name < (names.at(-1) ?? ""));
  if (unknown !== undefined) {
    throw new Error(
      `The database has the migration ${unknown}, which this version of Heddle does not know. Name another folder with HEDDLE_DIR.`,
    );
  }
  return migrations
    .filter(({ name }) => !applied.has(name))
    .flatMap(({ statements }) => statements);
}

function runBatch(database: Database, statements: string[]) {
  return database.batch<Record<string, unknown>>(statements.map((sql) => database.prepare(sql)));
}
