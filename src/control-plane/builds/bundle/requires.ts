import { isBuiltin } from "../resolve/builtins.ts";

/** The call in `const load = createRequire(import.meta.url)`, under any of its names. */
const CALL = /[cC]reateRequire[\w$]{0,9}\(\s{0,9}import\.meta\.(?:url|filename)\s{0,9}\)/;
const DECLARATIONS = ["const ", "let ", "var "];
const MAX_DECLARATION = 500;

/** Name of the module that knows the files which one file requires. */
export const REQUIRE_PREFIX = "heddle:require:";

type Required = { text: string; prelude: string };

/** Bundles what a file requires by literal paths: the bundler reads calls of `require` alone. */
export function withRequires(text: string): Required {
  const created = createdIn(text);
  const paths = created === null ? [] : pathsOf(text, created.name);
  if (created === null || paths.length === 0) return { text, prelude: "" };
  const { start, end } = created;
  const module = JSON.stringify(REQUIRE_PREFIX + JSON.stringify(paths));
  return {
    text: `${text.slice(0, start)} __heddle_require(${text.slice(start, end)})${text.slice(end)}`,
    prelude: `import __heddle_require from ${module};`,
  };
}

/** Finds the name that holds the created function, and the expression that creates it. */
function createdIn(text: string): { name: string; start: number; end: number } | null {
  const call = CALL.exec(text);
  if (call === null) return null;
  const end = call.index + call[0].length;
  const from = Math.max(0, call.index - MAX_DECLARATION);
  const head = text.slice(from, call.index);
  const equals = head.lastIndexOf("=");
  const declared = Math.max(...DECLARATIONS.map((word) => head.lastIndexOf(word, equals)));
  if (declared === -1 || !/^[\s\w$.]*$/.test(head.slice(equals + 1))) return null;
  const [, name = "", type = ""] =
    /^[a-z]+ ([\w$]+)(.*)$/s.exec(head.slice(declared, equals)) ?? [];
  const isTyped = type.trim() === "" || type.trim().startsWith(":");
  return name === "" || !isTyped ? null : { name, start: from + equals + 1, end };
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
  const created = createdIn(text);
  return created && new RegExp(`${callOf(created.name)}\\s*[^\\s"'\`)]`);
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
