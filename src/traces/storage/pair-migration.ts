import type { PairDigest, PairKind } from "../changes.ts";
import { digestPairs, type Pair } from "../digest.ts";
import { IndexTables } from "./index-tables.ts";
import { PAIR_TABLES } from "./pairs.ts";

type OldPair = { row: number; kind: PairKind; key: string; value: string; number: number | null };

const ROWS = 500;

/** From one row of a table for each pair and tag to digests and terms. */
export function digestOldPairs(sql: SqlStorage): void {
  for (const statement of PAIR_TABLES) sql.exec(statement);
  const { last } = sql
    .exec<{ last: number }>("SELECT coalesce(max(row), 0) AS last FROM runs")
    .one();
  for (let from = 1; from <= last; from += ROWS) digestRows(sql, from, from + ROWS - 1);
  sql.exec("DROP TABLE run_pairs; DROP TABLE run_tags;");
}

function digestRows(sql: SqlStorage, from: number, to: number): void {
  const index = new IndexTables(sql);
  const pairs = sql
    .exec<OldPair>("SELECT * FROM run_pairs WHERE row BETWEEN ? AND ? ORDER BY row, n", from, to)
    .toArray();
  for (const [row, ofRow] of Map.groupBy(pairs, (pair) => pair.row)) {
    const kinds = Map.groupBy(ofRow, ({ kind }) => kind);
    const digests: Partial<Record<PairKind, PairDigest>> = {};
    for (const [kind, list] of kinds) {
      const plain = list.map(({ key, value, number }): Pair => [key, value, number]);
      digests[kind] = digestPairs(kind, plain);
    }
    index.addPairs(row, digests);
  }
  const tags = sql.exec<{ row: number; tag: string }>(
    "SELECT row, tag FROM run_tags WHERE row BETWEEN ? AND ?",
    from,
    to,
  );
  for (const { row, tag } of tags.toArray()) index.addTags(row, [tag]);
  index.write();
}
