import { chunks } from "../../../../shared/work/chunks.ts";

// SQLite in a Durable Object binds at most 100 parameters.
const MAX_PARAMETERS = 100;

/** Inserts rows with as few statements as their parameters allow: a statement costs more than its rows. */
export function insertRows(
  sql: SqlStorage,
  into: string,
  rows: (SqlStorageValue | Uint8Array)[][],
  onConflict = "",
) {
  const width = rows[0]?.length ?? 1;
  const most = Math.floor(MAX_PARAMETERS / width);
  const row = `(${Array.from({ length: width }, () => "?").join(", ")})`;
  for (const some of chunks(rows, most)) {
    const values = some.map(() => row).join(", ");
    sql.exec(`${into} VALUES ${values} ${onConflict}`, ...some.flat());
  }
}
