import { rangeOf } from "./namespaces.ts";

type Scored = { id: number; score: number };
type Scope = { prefix: string[]; now: number; count: number; after: Scored | null };

/** Embeddings of items, normalized so that a dot product is the cosine similarity. */
export class Vectors {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  replace(item_id: number, vectors: Float32Array[]) {
    this.#sql.exec("DELETE FROM vectors WHERE item_id = ?", item_id);
    for (const [n, vector] of vectors.entries()) {
      const sql = "INSERT INTO vectors (item_id, n, vector) VALUES (?, ?, ?)";
      this.#sql.exec(sql, item_id, n, toUnit(vector).buffer);
    }
  }

  /**
   * Returns the items below a namespace that are nearest to the query, nearest first. An item counts by the nearest of
   * its vectors. Reads all vectors below the namespace, and keeps about twice `count` items in memory. Skips vectors of
   * another length, which another embedding made. `after`: the last item of the page before.
   */
  nearest(query: Float32Array, scope: Scope, isWanted: (id: number) => boolean): Scored[] {
    const unit = toUnit(query);
    const { from, to } = rangeOf(scope.prefix);
    const rows = this.#sql.exec<{ id: number; vector: ArrayBuffer }>(
      `SELECT items.id, vectors.vector FROM items CROSS JOIN vectors ON vectors.item_id = items.id
       WHERE items.namespace >= ? AND items.namespace < ?
         AND (items.expires_at IS NULL OR items.expires_at > ?)`,
      ...[from, to, scope.now],
    );
    const { count, after } = scope;
    const best = new Best(count, after, isWanted);
    for (const { id, vector } of rows) {
      if (vector.byteLength !== unit.byteLength) continue;
      best.offer(id, product(unit, new Float32Array(vector)));
    }
    return best.list();
  }
}

/** The highest scores among the items that are wanted. Callers offer all vectors of an item before those of the next. */
class Best {
  readonly #count: number;
  readonly #after: Scored | null;
  readonly #isWanted: (id: number) => boolean;
  #current: Scored | null = null;
  #found: Scored[] = [];
  #least = Number.NEGATIVE_INFINITY;

  constructor(count: number, after: Scored | null, isWanted: (id: number) => boolean) {
    this.#count = count;
    this.#after = after;
    this.#isWanted = isWanted;
  }

  offer(id: number, score: number) {
    if (this.#current?.id !== id) {
      this.#settle();
      this.#current = { id, score };
    } else if (score > this.#current.score) this.#current.score = score;
  }

  list(): Scored[] {
    this.#settle();
    this.#cut();
    return this.#found;
  }

  #settle() {
    const item = this.#current;
    if (!item || item.score < this.#least) return;
    if (this.#after && order(this.#after, item) >= 0) return;
    if (!this.#isWanted(item.id)) return;
    this.#found.push(item);
    if (this.#found.length > 2 * this.#count) this.#cut();
  }

  #cut() {
    this.#found.sort(order);
    this.#found = this.#found.slice(0, this.#count);
    if (this.#found.length === this.#count) this.#least = this.#found.at(-1)?.score ?? this.#least;
  }
}

/** Sorts the nearest first, and among equally near items the newest. */
function order(one: Scored, other: Scored): number {
  return other.score - one.score || other.id - one.id;
}

function toUnit(vector: Float32Array): Float32Array<ArrayBuffer> {
  const length = Math.sqrt(product(vector, vector));
  return Float32Array.from(vector, (one) => (length === 0 ? 0 : one / length));
}

function product(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let n = 0; n < a.length; n++) sum += (a[n] ?? 0) * (b[n] ?? 0);
  return sum;
}
