/** The tables of an object: steps that are only ever added to. The version is the number of those that ran. */
export type TableStep = string | ((sql: SqlStorage) => void);

const VERSION = "schema_version";

/** True once something was written: an object that was only asked has no tables and costs nothing. */
export function isMigrated(storage: DurableObjectStorage): boolean {
  return (storage.kv.get<number>(VERSION) ?? 0) > 0;
}

/** `whole`: what all steps together leave, for an object that is new. */
export function migrate(
  storage: DurableObjectStorage,
  steps: readonly TableStep[],
  whole?: string,
): void {
  const version = storage.kv.get<number>(VERSION) ?? 0;
  if (version === steps.length) return;
  const missing = version === 0 && whole !== undefined ? [whole] : steps.slice(version);
  storage.transactionSync(() => {
    for (const step of missing) {
      if (typeof step === "string") storage.sql.exec(step);
      else step(storage.sql);
    }
    storage.kv.put(VERSION, steps.length);
  });
}
