/** Rows of one object in order, page by page. */
export type PageSource<T> = { rows: T[]; next: (() => Promise<PageSource<T>>) | null };
type IsBefore<T> = (one: T, other: T) => boolean;
type Head<T> = { source: PageSource<T>; at: number };

/** Merges the rows of several objects in order. Reads the next page of an object when all rows of its page are taken. */
export async function* mergeSources<T>(
  sources: PageSource<T>[],
  isBefore: IsBefore<T>,
): AsyncGenerator<T> {
  const heads = sources.map((source) => ({ source, at: 0 }));
  for (;;) {
    for (const head of heads) if (isAtEnd(head)) await readNext(head);
    const first = firstOf(heads, isBefore);
    const row = first?.source.rows[first.at];
    if (!first || row === undefined) return;
    first.at += 1;
    yield row;
  }
}

/** Returns the rows of a page. With `keyOf`, skips rows that have the key of an earlier row. */
export async function takePage<T>(
  rows: AsyncIterable<T>,
  { offset = 0, limit }: { offset?: number; limit: number },
  keyOf?: (row: T) => string | number,
): Promise<T[]> {
  const found: T[] = [];
  const seen = new Set<string | number>();
  let skipped = 0;
  for await (const row of rows) {
    if (keyOf) {
      const { size } = seen;
      if (seen.add(keyOf(row)).size === size) continue;
    }
    if (skipped < offset) skipped += 1;
    else if (found.push(row) >= limit) break;
  }
  return found;
}

function isAtEnd<T>({ source, at }: Head<T>): boolean {
  return at === source.rows.length && source.next !== null;
}

async function readNext<T>(head: Head<T>) {
  while (isAtEnd(head) && head.source.next) {
    head.source = await head.source.next();
    head.at = 0;
  }
}

function firstOf<T>(heads: Head<T>[], isBefore: IsBefore<T>): Head<T> | null {
  let best: Head<T> | null = null;
  for (const head of heads) {
    const [row, least] = [head.source.rows[head.at], best?.source.rows[best.at]];
    if (row !== undefined && (least === undefined || isBefore(row, least))) best = head;
  }
  return best;
}
