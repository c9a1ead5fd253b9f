import { DurableObject } from "cloudflare:workers";
import { addToSeries, parseSeriesKey, type Series } from "../../shared/metrics/series.ts";
import { inRegion } from "../../shared/storage/objects.ts";

/** `sequence` numbers the batches of an isolate, over all owners, from 1 on. `recorded` has the values by series. */
export type MetricsBatch = {
  isolate_id: string;
  sequence: number;
  recorded: [string, number[]][];
};
/** The number of the newest batch of an isolate, and when it was added. */
type Added = { sequence: number; at_ms: number };

const METRIC = "metric/";
const ISOLATE = "isolate/";
/** Time for which the number of an isolate is kept after its last batch. */
const ISOLATE_KEPT_MS = 24 * 60 * 60 * 1000;

/**
 * Totals of all isolates for one owner. A metric is one value of the storage, so a batch writes a row for each of its
 * metrics, whatever the number of its series.
 */
export class MetricsObject extends DurableObject<Env> {
  #totals: Map<string, Series> | null = null;

  /** Adds a batch to the totals, unless the isolate has sent it before. */
  async add({ isolate_id, sequence, recorded }: MetricsBatch): Promise<void> {
    const { kv } = this.ctx.storage;
    const added = kv.get<Added>(ISOLATE + isolate_id);
    if (added !== undefined && sequence <= added.sequence) return;
    const totals = this.#read();
    const changed = new Set<string>();
    for (const [key, values] of recorded) {
      const { name } = parseSeriesKey(key);
      const series = totals.get(name) ?? new Map();
      totals.set(name, series);
      addToSeries(series, key, values);
      changed.add(name);
    }
    try {
      this.ctx.storage.transactionSync(() => {
        for (const name of changed) kv.put(METRIC + name, totals.get(name));
        if (added === undefined) this.#forgetIsolates();
        kv.put<Added>(ISOLATE + isolate_id, { sequence, at_ms: Date.now() });
      });
    } catch (error) {
      this.#totals = null;
      throw error;
    }
  }

  async list(): Promise<[string, number[]][]> {
    return [...this.#read().values()].flatMap((series) => [...series]);
  }

  #read(): Map<string, Series> {
    if (this.#totals !== null) return this.#totals;
    const stored = this.ctx.storage.kv.list<Series>({ prefix: METRIC });
    this.#totals = new Map([...stored].map(([key, series]) => [key.slice(METRIC.length), series]));
    return this.#totals;
  }

  /** Deletes the numbers of isolates that have sent nothing for a day. */
  #forgetIsolates() {
    const { kv } = this.ctx.storage;
    const before = Date.now() - ISOLATE_KEPT_MS;
    const known = [...kv.list<Added>({ prefix: ISOLATE })];
    for (const [key, { at_ms }] of known) if (at_ms < before) kv.delete(key);
  }
}

// The types of RPC stubs turn tuples into unions; the class has the real ones.
type MetricsCalls = Pick<MetricsObject, "add" | "list">;

/** @param owner the region, or a workspace for its usage */
export function metricsOf(env: Env, owner: string): MetricsCalls {
  return inRegion(env, env.METRICS).getByName(owner) as unknown as MetricsCalls;
}
