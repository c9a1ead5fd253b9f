import { and, type SQL, sql } from "drizzle-orm";
import { SQLiteSyncDialect } from "drizzle-orm/sqlite-core";
import type { Filters } from "../../../shared/filters.ts";
import { contains, fulfils, lacks } from "../../../shared/storage/containment.ts";
import { among } from "../../../shared/storage/sql.ts";
import { digestOf } from "../contract/digest.ts";
import type { ThreadCount, ThreadSearch } from "../contract/requests/thread-schema.ts";
import type { ThreadStatus } from "../contract/run-decisions.ts";
import { DirectoryCounts, type StatusCount, type StatusCounts, toStatusCounts } from "./counts.ts";
import { OVERFLOW, termsOfQuery } from "./terms.ts";

export type DirectoryFilter = Partial<ThreadCount> & {
  /** Authorization filters, `null` for all threads. */
  filters?: Filters | null;
  /** Whether temporary threads are found too. */
  with_temporary?: boolean;
  /** Finds threads that were created after the one with this `id` of `DirectoryRow`. */
  after?: number;
  /** Finds threads that were created up to this ISO time. */
  created_until?: string;
};

export type DirectoryQuery = DirectoryFilter &
  Partial<Pick<ThreadSearch, "sort_by" | "sort_order" | "offset">> & {
    limit: number;
    /** Whether rows have their metadata. */
    with_metadata?: boolean;
  };

export type DirectoryRow = {
  id: number;
  thread_id: string;
  created_at: string;
  updated_at: string;
  state_updated_at: string | null;
  status: ThreadStatus;
  /** JSON text, `null` when it was not requested. */
  metadata: string | null;
};

export type WaitingPosition = { state_updated_at: string; thread_id: string };

/**
 * Numbers of rows up to which the candidates of a source are counted, to compare sources: counting reads these rows.
 */
const [FEW, MANY] = [100, 5000];

/** Input of a statement: tables in join order, the column with the id of the thread, and the condition. */
type Source = { from: SQL; id: SQL; where?: SQL };
type Driver = Source & { countCandidates: (most: number) => number };

const ID = sql`threads.id`;
const WAITING = sql`status = 'interrupted' and is_waiting = 1 and is_temporary = 0`;
/** Table, with the index that has the order of a sort field. */
const ORDERED_BY: Partial<Record<NonNullable<DirectoryQuery["sort_by"]>, SQL>> = {
  thread_id: sql`threads`,
  status: sql`threads indexed by threads_by_status`,
  updated_at: sql`threads indexed by threads_by_update`,
};

/** Reads of the directory. */
export class DirectorySearch {
  readonly #sql: SqlStorage;
  readonly #counts: DirectoryCounts;
  readonly #dialect = new SQLiteSyncDialect();

  constructor(storage: SqlStorage) {
    this.#sql = storage;
    this.#counts = new DirectoryCounts(storage);
  }

  find(query: DirectoryQuery): Iterable<DirectoryRow> {
    const { sort_by = "created_at", sort_order = "desc", limit, offset = 0 } = query;
    const source = this.#sourceOf(query, sort_by);
    const order = sql.raw(sort_order);
    // Ids are in the order of creation.
    const by = sort_by === "created_at" ? sql`` : sql`threads.${sql.raw(sort_by)} ${order}, `;
    return this.#read<DirectoryRow>(sql`
      select threads.id, thread_id, created_at, updated_at, state_updated_at, status,
        ${query.with_metadata ? sql`metadata` : sql`null`} as metadata
      from ${source.from} where ${conditions(query, source)}
      order by ${by}${source.id} ${order} limit ${limit} offset ${offset}`);
  }

  /**
   * Counts threads that are not temporary. Without conditions other than the status, reads the stored counts. Callers
   * set no `after`, no `created_until` and no `with_temporary`.
   */
  count(filter: DirectoryFilter): StatusCounts {
    const { ids, status, metadata, values, filters, without_metadata } = filter;
    if (!ids && [metadata, values, filters, without_metadata].every(isEmpty))
      return this.#counts.byStatus(status);
    const source = this.#sourceOf(filter, "created_at");
    const counted = this.#read<StatusCount>(sql`select status, count(*) as threads
      from ${source.from} where ${conditions(filter, source)} group by status`);
    return toStatusCounts(counted);
  }

  countWaiting(): number {
    const [row] = this.#read<{ n: number }>(
      sql`select count(*) as n from threads indexed by threads_waiting where ${WAITING}`,
    );
    return row?.n ?? 0;
  }

  /** Returns threads that wait for a person, the longest wait first. */
  findWaiting(after: WaitingPosition | null, limit: number): Iterable<WaitingPosition> {
    const { state_updated_at, thread_id } = after ?? { state_updated_at: "", thread_id: "" };
    return this.#read<WaitingPosition>(sql`
      select thread_id, state_updated_at from threads indexed by threads_waiting
      where ${WAITING} and (state_updated_at, thread_id) > (${state_updated_at}, ${thread_id})
      order by state_updated_at, thread_id limit ${limit}`);
  }

  /**
   * Chooses the source with the fewest candidates. When all sources have many, chooses the index of the sort field, or
   * without one the first source.
   */
  #sourceOf(filter: DirectoryFilter, sort_by: DirectoryQuery["sort_by"]): Source {
    const all = { from: sql`threads not indexed`, id: ID };
    const sources = this.#driversOf(filter);
    const [only] = sources;
    // Each source is read by ids, which are in the order of creation. A single one is not slower than the whole table.
    if (sort_by === "created_at" && sources.length < 2) return only ?? all;
    const few = fewest(sources, FEW) ?? fewest(sources, MANY);
    if (few) return few;
    const from = sort_by && ORDERED_BY[sort_by];
    return from ? { from, id: ID } : (only ?? all);
  }

  #driversOf({ ids, status, metadata, filters, ...query }: DirectoryFilter): Driver[] {
    const drivers: Driver[] = [];
    if (ids)
      drivers.push({
        ...{ from: sql`threads`, id: ID, where: among(sql`thread_id`, ids) },
        countCandidates: () => ids.length,
      });
    if (status)
      drivers.push({
        ...{ from: sql`threads indexed by threads_by_status`, id: ID },
        where: sql`threads.status = ${status}`,
        countCandidates: (most) => this.#counts.candidates(status, most),
      });
    // Temporary threads have no terms.
    if (query.with_temporary) return drivers;
    const terms = termsOfQuery(metadata, filters ?? null);
    const hasOverflow = terms.length > 0 && this.#countTerm(OVERFLOW, 1) > 0;
    return [...drivers, ...terms.map((term) => this.#driverOf(term, hasOverflow))];
  }

  #driverOf(term: string, hasOverflow: boolean): Driver {
    const countCandidates = (most: number) => this.#countTerm(term, most);
    const source = hasOverflow
      ? {
          ...{ from: sql`threads`, id: ID },
          where: sql`threads.id in (select id from terms where term in (${term}, ${OVERFLOW}))`,
        }
      : {
          from: sql`terms cross join threads on threads.id = terms.id`,
          ...{ id: sql`terms.id`, where: sql`terms.term = ${term}` },
        };
    return { ...source, countCandidates };
  }

  #countTerm(term: string, limit: number): number {
    const some = sql`select 1 from terms where term = ${term} limit ${limit}`;
    const [row] = this.#read<{ n: number }>(sql`select count(*) as n from (${some})`);
    return row?.n ?? 0;
  }

  #read<T extends Record<string, SqlStorageValue>>(query: SQL): Iterable<T> {
    const { sql: text, params } = this.#dialect.sqlToQuery(query);
    return this.#sql.exec<T>(text, ...(params as SqlStorageValue[]));
  }
}

function isEmpty(condition: object | null | undefined): boolean {
  return Object.keys(condition ?? {}).length === 0;
}

/** @returns `undefined` when each source has more candidates than the upper bound */
function fewest(sources: Driver[], most: number): Driver | undefined {
  const counted = sources.map((source) => [source.countCandidates(most + 1), source] as const);
  const [count, source] = counted.sort(([one], [other]) => one - other).at(0) ?? [most + 1];
  return count <= most ? source : undefined;
}

/** Returns the conditions that each candidate must meet: different values may share a term, and some have no term. */
function conditions(query: DirectoryFilter, { where, id }: Source): SQL | undefined {
  const { ids, status, metadata, values, filters, after, created_until } = query;
  const { without_metadata = [] } = query;
  return and(
    where ?? sql`true`,
    ids && among(sql`thread_id`, ids),
    // The unary plus keeps SQLite from using the index of the status where the source is another one.
    status && sql`+threads.status = ${status}`,
    query.with_temporary ? undefined : sql`is_temporary = 0`,
    metadata && contains(sql`metadata`, metadata),
    without_metadata.length === 0 ? undefined : lacks(sql`metadata`, without_metadata),
    values && contains(sql`digest`, digestOf(values)),
    fulfils(sql`metadata`, filters ?? null),
    after === undefined ? undefined : sql`${id} > ${after}`,
    created_until === undefined ? undefined : sql`created_at <= ${created_until}`,
  );
}
