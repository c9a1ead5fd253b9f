import { DurableObject } from "cloudflare:workers";
import { and, eq } from "drizzle-orm";
import { database } from "../../../shared/context.ts";
import { isMigrated, migrate } from "../../../shared/storage/object-tables.ts";
import { inRegion } from "../../../shared/storage/objects.ts";
import { toIso } from "../../../shared/times.ts";
import { deployments } from "../table.ts";
import type { LogFilter, LoggedLine } from "./log-filter.ts";
import type { AgentLine } from "./tail-lines.ts";

// The types of RPC turn null into never in places; the class has the real ones.
type AgentLogCalls = Pick<AgentLog, "append" | "list" | "clear">;

/** Appended to, never changed. */
const MIGRATIONS = [
  `CREATE TABLE lines (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    revision_id TEXT NOT NULL,
    level TEXT NOT NULL,
    message TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    key TEXT
  );
  CREATE INDEX lines_by_revision ON lines (revision_id, id);
  CREATE INDEX lines_by_time ON lines (at_us);
  CREATE UNIQUE INDEX lines_by_key ON lines (key) WHERE key IS NOT NULL;`,
];
/** Older lines make room for newer ones. */
const MAX_LINES = 50_000;

/** The log of the agents of one deployment, whose id is its name. It has tables from its first line on. */
export class AgentLog extends DurableObject<Env> {
  /** Appends lines in order, duplicates once. Times are unique, so that paging by time misses no line and always advances. */
  async append(deployment_id: string, lines: AgentLine[]): Promise<void> {
    if (!this.#exists && !(await isKept(this.env, deployment_id))) return;
    const { sql } = this.ctx.storage;
    this.ctx.storage.transactionSync(() => {
      migrate(this.ctx.storage, MIGRATIONS);
      const [newest] = sql.exec<{ id: number; at_us: number }>(
        "SELECT id, at_us FROM lines ORDER BY id DESC LIMIT 1",
      );
      let { id, at_us: last } = newest ?? { id: 0, at_us: 0 };
      for (const { revision_id, level, message, at_us, key } of lines) {
        const { rowsWritten } = sql.exec(
          `INSERT INTO lines (id, revision_id, level, message, at_us, key) VALUES (?, ?, ?, ?, ?, ?)
           ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING`,
          ...[id + 1, revision_id, level, message, Math.max(at_us, last + 1), key],
        );
        if (rowsWritten === 0) continue;
        last = Math.max(at_us, last + 1);
        id += 1;
      }
      sql.exec("DELETE FROM lines WHERE id <= ?", id - MAX_LINES);
    });
  }

  async list(revision_id: string | null, filter: LogFilter): Promise<LoggedLine[]> {
    if (!this.#exists) return [];
    const { is_up, after, level, text, from_us, to_us, limit } = filter;
    const conditions: [string, string | number | null][] = [
      ["revision_id = ?", revision_id],
      [is_up ? "id > ?" : "id < ?", after],
      ["level = ?", level],
      ["instr(lower(message), ?) > 0", text],
      ["at_us >= ?", from_us],
      ["at_us < ?", to_us],
    ];
    const given = conditions.filter(([, value]) => value !== null);
    const where = given.map(([condition]) => condition).join(" AND ");
    const rows = this.ctx.storage.sql.exec<{
      id: number;
      level: string;
      message: string;
      at_us: number;
    }>(
      `SELECT id, level, message, at_us FROM lines WHERE ${where || "true"}
       ORDER BY id ${is_up ? "ASC" : "DESC"} LIMIT ?`,
      ...given.map(([, value]) => value),
      limit,
    );
    return [...rows].map(({ id, level, message, at_us }) => {
      return { id: String(id), level, message, timestamp: toIso(at_us) };
    });
  }

  async clear(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }

  get #exists(): boolean {
    return isMigrated(this.ctx.storage);
  }
}

/** A run that ends after its deployment was deleted leaves nothing behind. */
async function isKept(env: Env, deployment_id: string): Promise<boolean> {
  const rows = await database(env)
    .select({ id: deployments.id })
    .from(deployments)
    .where(and(eq(deployments.id, deployment_id), eq(deployments.status, "READY")));
  return rows.length > 0;
}

export function agentLog(env: Env, deployment_id: string): AgentLogCalls {
  return inRegion(env, env.LOGS).getByName(deployment_id) as unknown as AgentLogCalls;
}
