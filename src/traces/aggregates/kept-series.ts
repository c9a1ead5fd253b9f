import type { RunsQuery } from "../reads/query.ts";
import type { RunReader } from "../reads/run-reader.ts";
import { collectSeries, type SeriesCell, type SeriesQuery } from "./series.ts";

const HOUR_US = 3_600_000_000;
/** Time without changes after which the sums of a partition are kept. */
const QUIET_US = 60_000_000;
/** A value of the key-value storage has at most 2 MB. */
const MAX_CHARS = 1_000_000;

/**
 * Sums by hour since 1970, valid while `seq` is the newest sequence. They have no text of a run, which could outlive
 * it.
 */
type KeptSums = { seq: number; hours: SeriesCell[] };
type Counts = { seq: number; min_start_us: number | null; max_start_us: number | null };

/** Keeps the sums of a quiet partition by hour: an open chart of several days requests them every few seconds. */
export class KeptSeries {
  readonly #kv: DurableObjectStorage["kv"];
  readonly #counts: () => Counts;

  constructor(kv: DurableObjectStorage["kv"], counts: () => Counts) {
    this.#kv = kv;
    this.#counts = counts;
  }

  collect(reader: RunReader, query: RunsQuery, request: SeriesQuery): SeriesCell[] {
    const counts = this.#counts();
    if (!isWhole(query, request, counts)) return collectSeries(reader, query, request);
    const hours = this.#hours(reader, query, counts);
    const { first_us, stride_us } = request;
    // The hours of a longer bucket are separate cells: readers merge cells of the same bucket.
    return hours.map(({ bucket, ...cell }) => ({
      ...cell,
      bucket: Math.floor((bucket * HOUR_US - first_us) / stride_us),
    }));
  }

  #hours(reader: RunReader, query: RunsQuery, { seq }: Counts): SeriesCell[] {
    const key = query.is_root === true ? "hours_of_roots" : "hours";
    const text = this.#kv.get<string>(key);
    const kept: KeptSums | null = text === undefined ? null : JSON.parse(text);
    if (kept?.seq === seq) return kept.hours;
    const request = { group_by: null, groups: [], first_us: 0, stride_us: HOUR_US };
    const hours = collectSeries(reader, query, request);
    const sums = JSON.stringify({ seq, hours } satisfies KeptSums);
    const isQuiet = Date.now() * 1000 - seq >= QUIET_US;
    if (isQuiet && sums.length <= MAX_CHARS) this.#kv.put(key, sums);
    return hours;
  }
}

/** Whether a query sums all runs or roots of a partition, by hours. */
function isWhole(query: RunsQuery, request: SeriesQuery, counts: Counts): boolean {
  const { project_id, columns, order, limit, min_start_us, max_start_us, is_root, ...tests } =
    query;
  const isPlain = Object.values(tests).every((test) => test === null || isEmpty(test));
  const isHourly = request.stride_us % HOUR_US === 0 && request.first_us % HOUR_US === 0;
  const isInRange =
    (min_start_us ?? 0) <= (counts.min_start_us ?? 0) &&
    (max_start_us ?? Number.POSITIVE_INFINITY) >= (counts.max_start_us ?? 0);
  return isPlain && isHourly && isInRange && is_root !== false && request.group_by === null;
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
