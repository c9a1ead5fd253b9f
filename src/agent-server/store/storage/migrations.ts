/**
 * The tables of one store. Append only: the version is the number of steps that ran.
 * A namespace is kept as its labels, each with a period after it.
 */
export const MIGRATIONS = [
  `CREATE TABLE items (
     id INTEGER PRIMARY KEY,
     namespace TEXT NOT NULL,
     key TEXT NOT NULL,
     value TEXT NOT NULL,
     seq INTEGER NOT NULL,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     ttl_ms INTEGER,
     expires_at INTEGER
   );
   CREATE UNIQUE INDEX items_name ON items (namespace, key);
   CREATE UNIQUE INDEX items_by_change ON items (seq);
   CREATE INDEX items_by_end ON items (expires_at) WHERE expires_at IS NOT NULL;
   CREATE TABLE vectors (
     item_id INTEGER NOT NULL,
     n INTEGER NOT NULL,
     vector BLOB NOT NULL,
     PRIMARY KEY (item_id, n)
   );`,
];
