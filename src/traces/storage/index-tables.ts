import { chunks } from "../../shared/work/chunks.ts";
import type { PairDigest, PairSource } from "../changes.ts";
import { termOf } from "../terms.ts";

type Texts = Partial<Record<PairSource, string>>;
type Bound = string | number | null;

/** Limit of SQLite on Cloudflare: 100 bound values in a statement. */
const MAX_BOUND = 100;
/** Maximum number of rows in an entry: a longer list leaves the page of its term. */
const MAX_ROWS = 100;

const DIGESTS = {
  into: "run_digests (row, metadata, inputs, outputs)",
  on_conflict: `(row) DO UPDATE SET metadata = coalesce(excluded.metadata, metadata),
    inputs = coalesce(excluded.inputs, inputs), outputs = coalesce(excluded.outputs, outputs)`,
};

const TERMS = {
  into: "run_terms (term, row, rows)",
  on_conflict: `(term, row) DO UPDATE SET rows = CASE
    WHEN excluded.rows IS NULL OR excluded.rows = run_terms.rows THEN run_terms.rows
    WHEN run_terms.rows IS NULL THEN excluded.rows
    ELSE rtrim(run_terms.rows, ']') || ',' || ltrim(excluded.rows, '[') END`,
};

/** Index of digests and terms. Collects a batch and writes it in few statements. */
export class IndexTables {
  readonly #sql: SqlStorage;
  readonly #texts = new Map<number, Texts>();
  /** Rows of each term in order of arrival. */
  readonly #terms = new Map<number, number[]>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Leaves kinds unchanged that are not given. */
  addPairs(row: number, digests: Partial<Record<PairSource, PairDigest | undefined>>): void {
    const texts = this.#texts.get(row) ?? {};
    for (const kind of ["m", "i", "o"] as const) {
      const digest = digests[kind];
      if (digest === undefined) continue;
      texts[kind] = digest.pairs;
      for (const term of digest.terms) this.#addTerm(term, row);
    }
    this.#texts.set(row, texts);
  }

  addTags(row: number, tags: string[]): void {
    for (const tag of tags) this.#addTerm(termOf("tag", "", tag), row);
  }

  write(): void {
    const texts = [...this.#texts].map(([row, { m, i, o }]) => [
      row,
      m ?? null,
      i ?? null,
      o ?? null,
    ]);
    this.#insert(DIGESTS, texts);
    // Sorts by key, so that each page of the tree changes once.
    const entries = [...this.#terms].sort(([a], [b]) => a - b).flatMap(toEntries);
    this.#insert(TERMS, entries);
  }

  #addTerm(term: number, row: number): void {
    const rows = this.#terms.get(term);
    if (rows === undefined) this.#terms.set(term, [row]);
    else if (rows.at(-1) !== row) rows.push(row);
  }

  #insert({ into, on_conflict }: typeof TERMS, rows: Bound[][]): void {
    const [first = []] = rows;
    const tuple = `(${first.map(() => "?").join()})`;
    const step = Math.floor(MAX_BOUND / Math.max(1, first.length));
    for (const chunk of chunks(rows, step)) {
      const tuples = chunk.map(() => tuple).join();
      this.#sql.exec(
        `INSERT INTO ${into} VALUES ${tuples} ON CONFLICT ${on_conflict}`,
        ...chunk.flat(),
      );
    }
  }
}

function toEntries([term, rows]: [number, number[]]): Bound[][] {
  return chunks(rows, MAX_ROWS).map((some) => [
    term,
    some[0] ?? 0,
    some.length === 1 ? null : JSON.stringify(some),
  ]);
}
