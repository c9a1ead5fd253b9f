/** Splits a list into lists of at most `size` items, in order. */
export function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) =>
    items.slice(n * size, (n + 1) * size),
  );
}

/** Maps with at most `limit` calls under way. After the first failure no further call starts. */
export async function mapConcurrent<T, R>(
  items: readonly T[],
  limit: number,
  map: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  function* start() {
    for (const [n, item] of items.entries()) {
      yield map(item).then((result) => {
        results[n] = result;
      });
    }
  }
  const calls = start();
  // The workers share the generator. A rejected call ends the loop of its worker, which closes the generator.
  const work = async () => {
    for (const call of calls) await call;
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work));
  return results;
}
