import { compile } from "tailwindcss";
import { TAILWIND_SHEETS } from "../packages/embedded.ts";
import { directoryOf } from "../paths.ts";

/** Returns the path and the text of a style sheet that another one imports. */
export type StyleReader = (specifier: string, directory: string) => { path: string; text: string };

const DIRECTIVES = /@(import\s+["']tailwindcss|tailwind\s|apply\s|theme\b|utility\s|variant\s)/;
const OWN = /^tailwindcss(?:\/([a-z]+)(?:\.css)?)?$/;

/**
 * Compiles a style sheet with Tailwind 4 for the classes that the sources name. A style sheet without Tailwind is
 * returned unchanged. Every word of a source is a candidate: Tailwind ignores those that are no class.
 */
export async function compileStyles(
  css: string,
  directory: string,
  sources: () => Iterable<string>,
  read: StyleReader,
): Promise<string> {
  if (!DIRECTIVES.test(css)) return css;
  const compiler = await compile(css, {
    base: directory,
    loadStylesheet: async (id, base) => {
      const own = OWN.exec(id);
      if (own) return { path: id, base, content: ownSheet(id, own[1] ?? "index") };
      const { path, text } = read(id, base);
      return { path, base: directoryOf(path), content: text };
    },
    loadModule: async (id) => {
      throw new Error(`"${id}" is code, which builds do not run: use @theme or @utility`);
    },
  });
  return compiler.build([...candidatesOf(sources())]);
}

function ownSheet(id: string, name: string): string {
  const sheet = TAILWIND_SHEETS[`${name}.css`];
  if (sheet === undefined) throw new Error(`Tailwind has no style sheet "${id}"`);
  return sheet;
}

function candidatesOf(sources: Iterable<string>): Set<string> {
  const candidates = new Set<string>();
  for (const source of sources) {
    for (const word of source.split(/[\s"'`<>={};,]+/)) candidates.add(word);
  }
  return candidates;
}
