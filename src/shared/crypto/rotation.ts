import { sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { database } from "../context.ts";
import { log } from "../log.ts";
import { decrypt, encrypt, parseKeys, type SealedText } from "./crypto.ts";

const BATCH = 500;

/** Returns the ids of the former keys of ENCRYPTION_KEYS. Values encrypted with one of them wait for `resealRows`. */
export function oldKeyIds(env: Env): string[] {
  return parseKeys(env)
    .slice(1)
    .map(({ key_id }) => key_id);
}

/** Encrypts a batch of rows of former keys with the current key. Leaves a row that changed since it was read. */
export async function resealRows<Row>(
  env: Env,
  table: SQLiteTable,
  ownerOf: (row: Row) => string,
): Promise<void> {
  const old = oldKeyIds(env);
  if (old.length === 0) return;
  const db = database(env);
  const rows = await db.all<Row & SealedText & { row: number }>(
    sql`select rowid as row, * from ${table}
      where key_id in (select value from json_each(${JSON.stringify(old)})) limit ${BATCH}`,
  );
  for (const row of rows) {
    try {
      const owner = ownerOf(row);
      const { key_id, ciphertext } = await encrypt(env, await decrypt(env, row, owner), owner);
      await db.run(
        sql`update ${table} set key_id = ${key_id}, ciphertext = ${ciphertext}
          where rowid = ${row.row} and ciphertext = ${row.ciphertext}`,
      );
    } catch (error) {
      log.error("not_resealed", error, { key_id: row.key_id, row: row.row });
    }
  }
}
