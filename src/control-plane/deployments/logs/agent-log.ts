import { DurableObject } from "cloudflare:workers";
import { and, eq, sql } from "drizzle-orm";
import { database } from "../../../shared/context.ts";
import { log } from "../../../shared/log.ts";
import { containsTextSql } from "../../../shared/storage/letter-case.ts";
import { isMigrated, migrate } from "../../../shared/storage/object-tables.ts";
import { inRegion } from "../../../shared/storage/objects.ts";
import { toIso } from "../../../shared/times.ts";
import { deployments } from "../table.ts";
import type { LogFilter, LoggedLine } from "./log-filter.ts";
import { agent_logs } from "./table.ts";
import type { AgentLine } from "./tail-lines.ts";

// The types of RPC turn null into never in places; the class has the real ones.
type AgentLogCalls = Pick<
  AgentLog,
  "append" | "list" | "listNew" | "clear" | "notify" | "waitForChange"
>;

/** Lines in order, and the id after which the next read begins. */
export type NewLines = { lines: LoggedLine[]; after: number };

/** Migrations of the object's tables. New ones are appended. Existing ones never change. */
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
/** Maximum number of lines. The oldest ones are deleted first. */
const MAX_LINES = 50_000;
/** Key of the size that was last reported to D1. */
const REPORTED = "reported_bytes";
/** Change of the size that is reported to D1. Smaller ones are not, because each report writes a row. */
const REPORTED_STEP = 1024 ** 2;
/** Delay before a read for streams, so that lines written in quick succession arrive with one read. */
const SETTLE_MS = 50;

/** The log of the agents of one deployment, named by the deployment's id. The first line creates its tables. */
export class AgentLog extends DurableObject<Env> {
  /** Version of the builds. A restarted object may have missed a change, so its first version is new to all streams. */
  #version = Date.now();
  /** Streams that wait for a change of a build. */
  readonly #builds = new Waiters();
  /** Streams that wait for lines. */
  readonly #readers = new Waiters();

  /**
   * Appends lines in order, except those whose key exists or was deleted. Makes times unique, so that paging by time
   * misses none. Drops all lines when the log has no tables and the deployment is deleted or in deletion.
   */
  async append(deployment_id: string, lines: AgentLine[]): Promise<void> {
    if (!this.#exists && !(await isKept(this.env, deployment_id))) return;
    const { sql } = this.ctx.storage;
    this.ctx.storage.transactionSync(() => {
      migrate(this.ctx.storage, MIGRATIONS);
      const [newest] = sql.exec<{ id: number; at_us: number }>(
        "SELECT id, at_us FROM lines ORDER BY id DESC LIMIT 1",
      );
      let { id, at_us: last } = newest ?? { id: 0, at_us: 0 };
      const keptSince = this.#keptSince;
      for (const { revision_id, level, message, at_us, key } of lines) {
        if (key !== null && at_us < keptSince) continue;
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
    this.#readers.wakeAll();
    await this.#reportSize(deployment_id);
  }

  /**
   * Returns the time of the oldest line once older ones were deleted, else 0. The key of a deleted line is not known: a
   * line with a key and an earlier time may be that one.
   */
  get #keptSince(): number {
    const [oldest] = this.ctx.storage.sql.exec<{ id: number; at_us: number }>(
      "SELECT id, at_us FROM lines ORDER BY id LIMIT 1",
    );
    return oldest === undefined || oldest.id === 1 ? 0 : oldest.at_us;
  }

  /** Reports the size to D1, for the usage of the workspace. The next lines repeat a failed report. */
  async #reportSize(deployment_id: string): Promise<void> {
    const { kv, sql } = this.ctx.storage;
    const bytes = sql.databaseSize;
    if (Math.abs(bytes - (kv.get<number>(REPORTED) ?? 0)) < REPORTED_STEP) return;
    try {
      await saveLogSize(this.env, deployment_id, bytes);
      kv.put(REPORTED, bytes);
    } catch (error) {
      log.warn("log_size_not_reported", { deployment_id, error: String(error) });
    }
  }

  async list(revision_id: string | null, filter: LogFilter): Promise<LoggedLine[]> {
    if (!this.#exists) return [];
    const { is_up, after, level, text, from_us, to_us, limit } = filter;
    const contains = text === null ? null : containsTextSql("message", text);
    const conditions: [string, string | number | null][] = [
      ["revision_id = ?", revision_id],
      [is_up ? "id > ?" : "id < ?", after],
      ["level = ?", level],
      [contains?.sql ?? "", contains?.parameter ?? null],
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

  /**
   * Lists the lines after `filter.after`. Without any it waits for the next line of any revision, at most `wait_ms`,
   * and reads again.
   */
  async listNew(
    revision_id: string,
    filter: LogFilter & { after: number },
    wait_ms: number,
  ): Promise<NewLines> {
    const page = await this.#readNew(revision_id, filter);
    if (page.lines.length > 0) return page;
    if (!(await this.#readers.wait(wait_ms))) return page;
    await scheduler.wait(SETTLE_MS);
    return this.#readNew(revision_id, { ...filter, after: page.after });
  }

  /** Moves `after` past lines that do not match, so that each read scans only new lines. */
  async #readNew(revision_id: string, filter: LogFilter & { after: number }): Promise<NewLines> {
    const newest = this.#newestId;
    const lines = await this.list(revision_id, filter);
    const last = lines.at(-1);
    return { lines, after: last ? Number(last.id) : Math.max(newest, filter.after) };
  }

  async clear(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }

  /** Wakes the streams that wait for a change of a build. Nothing is stored: they read D1. */
  async notify(): Promise<void> {
    this.#version += 1;
    this.#builds.wakeAll();
  }

  /** Waits until the version is not `seen`, at most `ms`. @returns the version, another one after each change */
  async waitForChange(seen: number | null, ms: number): Promise<number> {
    if (seen === this.#version) await this.#builds.wait(ms);
    return this.#version;
  }

  get #newestId(): number {
    if (!this.#exists) return 0;
    const [row] = this.ctx.storage.sql.exec<{ id: number | null }>(
      "SELECT max(id) AS id FROM lines",
    );
    return row?.id ?? 0;
  }

  get #exists(): boolean {
    return isMigrated(this.ctx.storage);
  }
}

/** Returns whether the deployment exists and is not in deletion: a late line would create the tables again. */
async function isKept(env: Env, deployment_id: string): Promise<boolean> {
  const rows = await database(env)
    .select({ id: deployments.id })
    .from(deployments)
    .where(and(eq(deployments.id, deployment_id), eq(deployments.status, "READY")));
  return rows.length > 0;
}

function saveLogSize(env: Env, deployment_id: string, bytes: number) {
  return database(env).run(sql`
    insert into ${agent_logs} (deployment_id, bytes)
    select id, ${bytes} from deployments where id = ${deployment_id} and status = 'READY'
    on conflict (deployment_id) do update set bytes = excluded.bytes
  `);
}

/** Wakes the streams of a deployment's builds. Best effort: a stream also reads with each heartbeat. */
export async function notifyStreams(env: Env, deployment_id: string): Promise<void> {
  await agentLog(env, deployment_id)
    .notify()
    .catch(() => {});
}

export function agentLog(env: Env, deployment_id: string): AgentLogCalls {
  return inRegion(env, env.LOGS).getByName(deployment_id) as unknown as AgentLogCalls;
}

/** Calls of an object that wait for a change. They are in memory only. */
class Waiters {
  readonly #wakes = new Set<() => void>();

  wakeAll(): void {
    for (const wake of this.#wakes) wake();
    this.#wakes.clear();
  }

  /** Waits for `wakeAll`, at most `ms`. @returns whether it was called */
  wait(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.#wakes.delete(wake);
        resolve(false);
      }, ms);
      this.#wakes.add(wake);
    });
  }
}
