import type { Pair } from "../digest.ts";
import { MAX_KEYS_PER_RUN } from "../limits.ts";

export type PairKind = "m" | "i" | "o";
type PairRow = [row: number, kind: PairKind, ...Pair];
type TagRow = [row: number, tag: string];

/** A string of SQLite holds 2 MB at most. */
const MAX_CHARS = 500_000;

/** The tables that find runs by what is inside them. Collected over a batch, written in few statements. */
export class IndexTables {
  readonly #sql: SqlStorage;
  readonly #pairs: PairRow[] = [];
  readonly #tags: TagRow[] = [];

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  addPairs(row: number, kinds: Partial<Record<PairKind, Pair[] | undefined>>): void {
    const keys = new Set<string>();
    for (const kind of ["m", "i", "o"] as const) {
      for (const pair of kinds[kind] ?? []) {
        const key = `${kind}${pair[0]}`;
        if (keys.size >= MAX_KEYS_PER_RUN && !keys.has(key)) continue;
        keys.add(key);
        this.#pairs.push([row, kind, ...pair]);
      }
    }
  }

  addTags(row: number, tags: string[]): void {
    for (const tag of tags) this.#tags.push([row, tag]);
  }

  dropPairs(row: number, kind: PairKind): void {
    this.#sql.exec("DELETE FROM run_pairs WHERE row = ? AND kind = ?", row, kind);
  }

  dropTags(row: number): void {
    this.#sql.exec("DELETE FROM run_tags WHERE row = ?", row);
  }

  write(): void {
    for (const chunk of chunks(this.#pairs)) {
      this.#sql.exec(
        `INSERT OR IGNORE INTO run_pairs (row, kind, key, value, number)
         SELECT value->>0, value->>1, value->>2, value->>3, value->>4 FROM json_each(?)`,
        chunk,
      );
    }
    for (const chunk of chunks(this.#tags)) {
      this.#sql.exec(
        `INSERT OR IGNORE INTO run_tags (row, tag)
         SELECT value->>0, value->>1 FROM json_each(?)`,
        chunk,
      );
    }
  }
}

function* chunks(rows: unknown[]): Generator<string> {
  let texts: string[] = [];
  let chars = 0;
  for (const row of rows) {
    const text = JSON.stringify(row);
    texts.push(text);
    chars += text.length + 1;
    if (chars < MAX_CHARS) continue;
    yield `[${texts.join()}]`;
    [texts, chars] = [[], 0];
  }
  if (texts.length > 0) yield `[${texts.join()}]`;
}
