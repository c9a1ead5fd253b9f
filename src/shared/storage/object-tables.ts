const VERSION = "schema_version";

/** Returns whether something was written: an object that was only read has no tables and costs nothing. */
export function isMigrated(storage: DurableObjectStorage): boolean {
  return (storage.kv.get<number>(VERSION) ?? 0) > 0;
}

/** Runs the steps that have not run yet, all or none. The version is the number of steps that ran, so steps are only appended. */
export function migrate(storage: DurableObjectStorage, steps: readonly string[]): void {
  const version = storage.kv.get<number>(VERSION) ?? 0;
  if (version === steps.length) return;
  storage.transactionSync(() => {
    for (const step of steps.slice(version)) storage.sql.exec(step);
    storage.kv.put(VERSION, steps.length);
  });
}
