export type Param = string | number | null;

/** A part of the condition; `height` is about how deep SQLite will find it. */
export type Fragment = { sql: string; params: Param[]; height: number };

const TEST_HEIGHT = 4;

export function fragment(sql: string, ...params: Param[]): Fragment {
  return { sql, params, height: TEST_HEIGHT };
}

export function negate({ sql, params, height }: Fragment): Fragment {
  return { sql: `(NOT ${sql})`, params, height: height + 1 };
}

/**
 * Joins the two flattest until one is left: a chain `a AND b AND c` would be as deep as it is long.
 * The deeper one stands first, which keeps SQLite's parser stack short.
 */
export function join(operator: "AND" | "OR", fragments: Fragment[]): Fragment {
  const open = [...fragments].sort((a, b) => a.height - b.height);
  for (;;) {
    const [flat, deep, ...rest] = open;
    if (flat === undefined) return fragment(operator === "AND" ? "1" : "0");
    if (deep === undefined) return flat;
    const joined = {
      sql: `(${deep.sql} ${operator} ${flat.sql})`,
      params: [...deep.params, ...flat.params],
      height: deep.height + 1,
    };
    const at = rest.findIndex(({ height }) => height > joined.height);
    rest.splice(at === -1 ? rest.length : at, 0, joined);
    open.splice(0, open.length, ...rest);
  }
}

/** `sql` holds of a row of the other table that belongs to the run. */
export function exists(
  table: string,
  belongs: string,
  { sql, params, height }: Fragment,
): Fragment {
  return {
    sql: `EXISTS (SELECT 1 FROM ${table} WHERE ${belongs} AND ${sql})`,
    params,
    height: height + 2,
  };
}
