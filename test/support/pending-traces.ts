/** Returns the rows of a thread with traces that wait for ingestion. */
export function pendingTraces(sql: SqlStorage): number {
  const count = (query: string) => sql.exec<{ n: number }>(query).one().n;
  const hasOutbox = count("SELECT count(*) AS n FROM sqlite_master WHERE name = 'trace_outbox'");
  const waiting = hasOutbox === 0 ? 0 : count("SELECT count(*) AS n FROM trace_outbox");
  return (
    waiting +
    count(
      "SELECT count(*) AS n FROM events, thread WHERE traces IS NOT NULL AND last_id > traces_sent",
    )
  );
}
