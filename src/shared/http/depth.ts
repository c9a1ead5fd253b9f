/** Maximum levels of JSON, below the 1000 of SQLite and below the stack of recursive code. */
export const MAX_DEPTH = 500;

/** Whether a value from outside nests at most `MAX_DEPTH` deep. Level by level, without recursion. */
export function isShallow(value: unknown): boolean {
  let level = [value].filter(isNested);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= MAX_DEPTH) return false;
    level = level.flatMap((nested) => Object.values(nested).filter(isNested));
  }
  return true;
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
