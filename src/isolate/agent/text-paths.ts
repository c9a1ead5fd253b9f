const WHOLE = "$";
const INTEGER = /^-?\d+$/;
const TOKEN = /\[[^\]]*\]|\{[^}]*\}|[^.[\]{}]+/g;

/**
 * Returns the texts at a path as LangGraph's stores index them: `a.b`, `a[0]`, `a[-1]`, `a[*].b`,
 * `*`, `{a,b.c}`. `$` and an empty path select the whole value. Other texts in brackets select nothing.
 */
export function textsAt(value: unknown, path: string): string[] {
  if (path === "" || path === WHOLE) return textsOf(value);
  return walk(value, path.match(TOKEN) ?? []);
}

function walk(value: unknown, [token, ...rest]: string[]): string[] {
  if (token === undefined) return textsOf(value);
  if (token.startsWith("{")) {
    const paths = token.slice(1, -1).split(",");
    return paths.flatMap((path) => walk(value, [...(path.trim().match(TOKEN) ?? []), ...rest]));
  }
  return childrenAt(value, token).flatMap((child) => walk(child, rest));
}

function childrenAt(value: unknown, token: string): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  if (token === "*" || (token === "[*]" && Array.isArray(value))) return Object.values(value);
  if (token.startsWith("[")) {
    const index = token.slice(1, -1);
    return Array.isArray(value) && INTEGER.test(index) ? [value.at(Number(index))] : [];
  }
  return Object.hasOwn(value, token) ? [(value as Record<string, unknown>)[token]] : [];
}

function textsOf(value: unknown): string[] {
  if (value === undefined || value === null || value === "") return [];
  return [typeof value === "object" ? JSON.stringify(value) : String(value)];
}
