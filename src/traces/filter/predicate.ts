import { type Fragment, fragment } from "./fragment.ts";
import type { Comparator, Condition, LikePattern } from "./tree.ts";

const OPERATORS: Record<Exclude<Comparator, "eq" | "neq">, string> = {
  gt: ">",
  gte: ">=",
  lt: "<",
  lte: "<=",
};

/** True or false of every row, never NULL, so that `not` is the exact complement. */
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
