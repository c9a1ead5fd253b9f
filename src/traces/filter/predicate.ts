import type { Comparator, Condition, LikePattern } from "./tree.ts";

export type Param = string | number | null;

/** Part of a condition; `height` approximates its depth in SQLite's parser. */
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
 * Puts the deeper one first, which keeps SQLite's parser stack short.
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

/** Tests rows of another table that belong to the run. */
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

const OPERATORS: Record<Exclude<Comparator, "eq" | "neq">, string> = {
  gt: ">",
  gte: ">=",
  lt: "<",
  lte: "<=",
};

/** Evaluates to true or false, never to NULL, so that `not` is the exact complement. */
export function predicate(sql: string, condition: Condition): Fragment {
  switch (condition.op) {
    case "eq":
      return fragment(`${sql} IS ?`, condition.operand);
    case "neq":
      return fragment(`${sql} IS NOT ?`, condition.operand);
    case "null":
      return fragment(`${sql} IS NULL`);
    case "set":
      return fragment(`${sql} IS NOT NULL`);
    case "in":
      return known(sql, `${sql} IN (SELECT value FROM json_each(?))`, [
        JSON.stringify(condition.operands),
      ]);
    case "like":
      return like(sql, condition.pattern);
    case "search":
      return known(sql, `instr(lower(${sql}), ?) > 0`, [condition.text]);
    default:
      return known(sql, `${sql} ${OPERATORS[condition.op]} ?`, [condition.operand]);
  }
}

function known(sql: string, test: string, params: (string | number)[]): Fragment {
  return fragment(`(${sql} IS NOT NULL AND ${test})`, ...params);
}

function like(sql: string, pattern: LikePattern): Fragment {
  switch (pattern.kind) {
    case "short":
      return known(sql, `${sql} LIKE ? ESCAPE '\\'`, [pattern.text]);
    case "exact":
      return fragment(`lower(${sql}) IS ?`, pattern.text);
    case "around":
      return likeAround(sql, pattern);
  }
}

function likeAround(
  sql: string,
  { start, middle, end }: Extract<LikePattern, { kind: "around" }>,
): Fragment {
  const [first, last] = [[...start].length, [...end].length];
  const inner = `substr(lower(${sql}), ${first + 1}, length(${sql}) - ${first + last})`;
  const test = `length(${sql}) >= ${first + last}
    AND substr(lower(${sql}), 1, ${first}) = ?
    AND substr(lower(${sql}), length(${sql}) - ${last} + 1) = ?
    AND instr(${inner}, ?) > 0`;
  return known(sql, test, [start, end, middle]);
}
