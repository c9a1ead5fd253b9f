import { isBuiltin } from "../resolve/builtins.ts";

/** `const load = createRequire(import.meta.url)`, under any of its names. */
const CREATED =
  /\b(?:const|let|var)\s+([\w$]+)\s*(?::[^=\n]+)?=\s*((?:[\w$]+\.)?[\w$]*[cC]reateRequire[\w$]*\(\s*import\.meta\.(?:url|filename)\s*\))/;

/** Name of the module that knows the files which one file requires. */
export const REQUIRE_PREFIX = "heddle:require:";

type Required = { text: string; prelude: string };

/** Bundles what a file requires by literal paths: the bundler reads calls of `require` alone. */
export function withRequires(text: string): Required {
  const created = text.includes("import.meta") ? CREATED.exec(text) : null;
  const [statement, name = "", expression = ""] = created ?? [];
  const paths = statement === undefined ? [] : pathsOf(text, name);
  if (statement === undefined || paths.length === 0) return { text, prelude: "" };
  const changed = statement.replace(expression, () => `__heddle_require(${expression})`);
  const module = JSON.stringify(REQUIRE_PREFIX + JSON.stringify(paths));
  return {
    text: text.replace(statement, () => changed),
    prelude: `import __heddle_require from ${module};`,
  };
}

/** The module of a name with `REQUIRE_PREFIX`, for the bundler. */
export function requireModule(name: string): string {
  const paths = JSON.parse(name.slice(REQUIRE_PREFIX.length)) as string[];
  const entries = paths.map(
    (path) => `${JSON.stringify(path)}: () => require(${JSON.stringify(path)})`,
  );
  return `const files = {${entries.join(",")}};
module.exports = (own) => Object.assign((id) => (Object.hasOwn(files, id) ? files[id]() : own(id)), own);`;
}

/** @returns the pattern of calls whose path no build can know, or `null` */
export function unknownRequire(text: string): RegExp | null {
  const [, name] = (text.includes("import.meta") && CREATED.exec(text)) || [];
  return name === undefined ? null : new RegExp(`${callOf(name)}\\s*[^\\s"'\`)]`);
}

function pathsOf(text: string, name: string): string[] {
  const calls = text.matchAll(
    new RegExp(`${callOf(name)}\\s*(["'\`])([^"'\`$\\n]+)\\1\\s*\\)`, "g"),
  );
  const paths = [...calls].map(([, , path = ""]) => path);
  return [...new Set(paths)].filter((path) => !isBuiltin(path));
}

function callOf(name: string): string {
  return `(?<![\\w$.])${name.replaceAll("$", "\\$")}\\(`;
}
