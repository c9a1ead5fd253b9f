import type { PartialMessage } from "esbuild-wasm";
import { BUNDLE_FOLDER } from "../paths.ts";
import { splitPackagePath } from "../resolve/disk.ts";
import { bundleRequires, unknownRequire } from "./requires.ts";

/** Names that Node gives to each file, with their replacements. Names that a file declares are not replaced. */
export const META_DEFINES = {
  __filename: "__heddle_filename",
  __dirname: "__heddle_dirname",
  "require.main": "undefined",
  "import.meta.url": "__heddle_url",
  "import.meta.filename": "__heddle_filename",
  "import.meta.dirname": "__heddle_dirname",
};

const OWN = /import\.meta|__filename|__dirname|module\.parent/;
/**
 * Sets `module.parent`, which Node leaves unset in the main program only. Code like `if (!module.parent) startServer()`
 * then does not run.
 */
const PARENT = 'typeof module==="object"&&(module.parent={});';

/**
 * Declares the constants of `META_DEFINES` in a file that uses them, because all files become one module. Also makes
 * its `createRequire` calls find bundled files. No line is added, so that line numbers do not change.
 */
export function withOwnNames(path: string, text: string): string {
  const hasModule = lacksModule(path, text);
  if (!OWN.test(text) && !hasModule) return text;
  const filename = BUNDLE_FOLDER + path;
  const constants = {
    __heddle_url: `file://${encodeURI(filename)}`,
    __heddle_filename: filename,
    __heddle_dirname: filename.slice(0, filename.lastIndexOf("/")),
  };
  const list = Object.entries(constants).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  if (hasModule) list.push("module={}");
  // A hashbang (`#!`) must begin the file. As a comment it may follow the declarations.
  const required = bundleRequires(text.replace(/^#!/, "//"));
  const parent = text.includes("module.parent") ? PARENT : "";
  return `${MARK}const ${list.join(",")};${parent}${required.prelude}${MARK}${required.text}`;
}

/**
 * Matches `require.main === module` beside imports: such sources expect to be compiled to CommonJS, which has `module`.
 */
function lacksModule(path: string, text: string): boolean {
  const isCommonJs = splitPackagePath(path) !== null || /\bmodule\.exports\b/.test(text);
  return (
    !isCommonJs && /\brequire\.main\b/.test(text) && /^[ \t]{0,40}(import|export)\b/m.test(text)
  );
}

const MARK = "/*heddle*/";

/** @returns the number of characters that `withOwnNames` put before the first line of a file */
export function addedLength(lineText: string): number {
  if (!lineText.startsWith(MARK)) return 0;
  return lineText.indexOf(MARK, MARK.length) + MARK.length;
}

const UNKNOWN_REQUIRE = "A build bundles files that are required by literal paths: others throw";
const IMPOSSIBLE: (readonly [RegExp, string])[] = [
  [/\bnew Function\s*\(/, "Workers generate no code from text: new Function() throws"],
  [
    /\bWebAssembly\.(compile|instantiate)\s*\(/,
    "Workers compile no WebAssembly at run time: import the .wasm file",
  ],
];
const COMPILE = ".compile(";
/** Characters that are searched, from `.compile(` on. Calls that compile a graph are shorter. */
const CALL_CHARS = 500;
const TRANSFORMERS_TEXT =
  "Stream transformers are not run: their extensions stay empty. Emit custom events instead";
const MAX_WARNINGS = 20;

/** Warns of calls that throw on Workers or have no effect. May match a comment, which is harmless for a warning. */
export function warningsOfSource(path: string, text: string): PartialMessage[] {
  if (!/Function|WebAssembly|transformers|createRequire/.test(text)) return [];
  const unknown = unknownRequire(text);
  const patterns = unknown ? [...IMPOSSIBLE, [unknown, UNKNOWN_REQUIRE] as const] : IMPOSSIBLE;
  const lines = text.split("\n");
  const warnings = lines.flatMap((lineText, index) =>
    patterns.flatMap(([pattern, message]) => {
      const column = lineText.search(pattern);
      const location = { file: path.slice(1), line: index + 1, column, lineText };
      return column < 0 || /^\s*(\/\/|\*)/.test(lineText) ? [] : [{ text: message, location }];
    }),
  );
  return [...warnings, ...warningsOfTransformers(path, text, lines)].slice(0, MAX_WARNINGS);
}

function warningsOfTransformers(path: string, text: string, lines: string[]): PartialMessage[] {
  return transformersIn(text).map((offset) => {
    const before = text.slice(0, offset).split("\n");
    const [line, column] = [before.length, before.at(-1)?.length ?? 0];
    const location = { file: path.slice(1), line, column, lineText: lines[line - 1] ?? "" };
    return { text: TRANSFORMERS_TEXT, location };
  });
}

/** Returns the offsets of the option in `graph.compile({..., transformers})`, which may have several lines. */
function transformersIn(text: string): number[] {
  const offsets: number[] = [];
  for (let at = text.indexOf(COMPILE); at >= 0; at = text.indexOf(COMPILE, at + 1)) {
    const [call = ""] = text.slice(at, at + CALL_CHARS).split(";", 1);
    const found = call.search(/\btransformers\b/);
    if (found >= 0) offsets.push(at + found);
  }
  return offsets.slice(0, MAX_WARNINGS);
}

const PROCESSES = /^(node:)?(child_process|cluster|worker_threads|inspector|repl|vm)(\/|$)/;

/** @returns the warning for a builtin whose functions throw in workerd, or `null` */
export function warningOfBuiltin(name: string): string | null {
  return PROCESSES.test(name)
    ? `Workers start no processes or threads: calls of "${name}" throw`
    : null;
}
