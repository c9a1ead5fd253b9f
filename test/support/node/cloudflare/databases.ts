import { randomUUID } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { unstable_splitSqlQuery as splitSql } from "wrangler";
import { ApiFailure, type Call, json, Paged, type Routes } from "./api.ts";

type Database = {
  uuid: string;
  name: string;
  jurisdiction: string | null;
  created_at: string;
  version: "production";
};

export class Databases {
  readonly all: Database[] = [];
  readonly #files = new Map<string, DatabaseSync>();

  readonly routes: Routes = {
    "GET /d1/database": ({ query }) => new Paged(this.all, query, 100),
    "POST /d1/database": (call) => this.#create(call),
    "GET /d1/database/:id": (_, [id = ""]) => this.#find(id),
    "POST /d1/database/:id/query": (call, [id = ""]) => this.#query(this.#find(id).uuid, call),
  };

  /** Runs a statement beside the API. */
  rows(name: string, sql: string) {
    return this.#files.get(this.#find(name).uuid)?.prepare(sql).all() ?? [];
  }

  #find(id: string): Database {
    const found = this.all.find(({ uuid, name }) => uuid === id || name === id);
    if (found) return found;
    throw new ApiFailure(404, 7404, `The database ${id} could not be found`);
  }

  #create(call: Call): Database {
    const { name, jurisdiction = null } = json<{ name: string; jurisdiction?: string }>(call);
    if (this.all.some((database) => database.name === name)) {
      throw new ApiFailure(400, 7502, `A database with that name already exists`);
    }
    const created_at = new Date().toISOString();
    const made = {
      uuid: randomUUID(),
      name,
      jurisdiction,
      created_at,
      version: "production",
    } as const;
    this.all.push(made);
    this.#files.set(made.uuid, new DatabaseSync(":memory:"));
    return made;
  }

  /** All statements, in one transaction. */
  #query(uuid: string, call: Call) {
    const { sql, params = [] } = json<{ sql: string; params?: string[] }>(call);
    const file = this.#files.get(uuid);
    file?.exec("BEGIN");
    try {
      const results = splitSql(sql).map((text) => ({
        results: file?.prepare(text).all(...params),
        success: true,
        meta: { duration: 0.1, changes: 0, rows_read: 0, rows_written: 0 },
      }));
      file?.exec("COMMIT");
      return results;
    } catch (error) {
      file?.exec("ROLLBACK");
      throw sqlFailure(error);
    }
  }
}

function sqlFailure(error: unknown): ApiFailure {
  const message = error instanceof Error ? error.message : String(error);
  return new ApiFailure(400, 7500, `${message}: SQLITE_ERROR`);
}
