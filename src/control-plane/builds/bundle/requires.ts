import { isBuiltin } from "../resolve/builtins.ts";

/** Matches `createRequire(import.meta.url)`. Bundlers add a suffix of up to nine characters to the name. */
const CALL = /[cC]reateRequire[\w$]{0,9}\(\s{0,9}import\.meta\.(?:url|filename)\s{0,9}\)/;
/** Matches the beginning of `import(name)` and `import(config.name)`. */
const COMPUTED_IMPORT = /(?<![\w$.])import\((?=\s{0,9}[A-Za-z_$][\w$.]{0,200}\s{0,9}\))/g;
const DECLARATIONS = ["const ", "let ", "var "];
/** Characters before the call in which its declaration begins. */
const MAX_DECLARATION = 500;

/** Prefix of the name of a virtual module. The rest of the name is the JSON of the required paths. */
export const REQUIRE_PREFIX = "heddle:require:";

/** `prelude`: statements to put before `text`, on its first line. */
type RewrittenFile = { text: string; prelude: string };

/**
 * Rewrites `const load = createRequire(...)`, so that `load("./x.js")` finds a bundled file. The bundler itself follows
 * only `require(...)`.
 */
export function bundleRequires(text: string): RewrittenFile {
  const declaration = findRequireDeclaration(text);
  const paths = declaration === null ? [] : pathsOf(text, declaration.name);
  if (declaration === null || paths.length === 0) return { text, prelude: "" };
  const { start, end } = declaration;
  const module = JSON.stringify(REQUIRE_PREFIX + JSON.stringify(paths));
  return {
    text: `${text.slice(0, start)} __heddle_require(${text.slice(start, end)})${text.slice(end)}`,
    prelude: `import __heddle_require from ${module};`,
  };
}

/** Returns the code of the module whose name begins with `REQUIRE_PREFIX`. */
export function requireModule(name: string): string {
  const paths = JSON.parse(name.slice(REQUIRE_PREFIX.length)) as string[];
  const entries = paths.map(
    (path) => `${JSON.stringify(path)}: () => require(${JSON.stringify(path)})`,
  );
  return `const files = {${entries.join(",")}};
module.exports = (own) => Object.assign((id) => (Object.hasOwn(files, id) ? files[id]() : own(id)), own);`;
}

/**
 * Makes computed imports of a package find the packages that its file names, if the project depends on them: LangChain
 * imports the packages of models in this way. Others are not found, with the error of Node.js.
 */
export function bundleComputedImports(text: string, dependencies: readonly string[]): string {
  if (text.search(COMPUTED_IMPORT) < 0) return text;
  const named = dependencies.filter((name) => text.includes(`"${name}"`));
  if (named.length === 0) return text;
  const files = named.map((name) => `${JSON.stringify(name)}:()=>import(${JSON.stringify(name)})`);
  const error = `Object.assign(new Error("Cannot find package '"+id+"'"),{code:"ERR_MODULE_NOT_FOUND"})`;
  const find = `Object.hasOwn(files,id)?files[id]():Promise.reject(${error})`;
  // No line is added, so that line numbers do not change. A hashbang must begin the file, and is a comment elsewhere.
  const prelude = `const __heddle_import=((files)=>(id)=>${find})({${files.join(",")}});`;
  return prelude + text.replace(/^#!/, "//").replaceAll(COMPUTED_IMPORT, "__heddle_import(");
}

/** @returns a pattern of calls with a computed path, which no build can resolve; `null` without `createRequire` */
export function unknownRequire(text: string): RegExp | null {
  const declaration = findRequireDeclaration(text);
  return declaration && new RegExp(`${callPattern(declaration.name)}\\s*[^\\s"'\`)]`);
}

/** Finds the name that holds the created function, and the expression that creates it. */
function findRequireDeclaration(text: string): { name: string; start: number; end: number } | null {
  const call = CALL.exec(text);
  if (call === null) return null;
  const end = call.index + call[0].length;
  const from = Math.max(0, call.index - MAX_DECLARATION);
  const before = text.slice(from, call.index);
  const equals = before.lastIndexOf("=");
  const keywordAt = Math.max(...DECLARATIONS.map((word) => before.lastIndexOf(word, equals)));
  if (keywordAt === -1 || !/^[\s\w$.]*$/.test(before.slice(equals + 1))) return null;
  const [, name = "", type = ""] =
    /^[a-z]+ ([\w$]+)(.*)$/s.exec(before.slice(keywordAt, equals)) ?? [];
  const isTyped = type.trim() === "" || type.trim().startsWith(":");
  return name === "" || !isTyped ? null : { name, start: from + equals + 1, end };
}

function pathsOf(text: string, name: string): string[] {
  const calls = text.matchAll(
    new RegExp(`${callPattern(name)}\\s*(["'\`])([^"'\`$\\n]+)\\1\\s*\\)`, "g"),
  );
  const paths = [...calls].map(([, , path = ""]) => path);
  return [...new Set(paths)].filter((path) => !isBuiltin(path));
}

function callPattern(name: string): string {
  return `(?<![\\w$.])${name.replaceAll("$", "\\$")}\\(`;
}
