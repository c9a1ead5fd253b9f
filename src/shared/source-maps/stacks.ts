import { findOrigins, type SourceOrigin } from "./mappings.ts";

/**
 * A source map of a bundle. `sourcesContent` holds the files of the repository, and `null` for packages and for files
 * beyond the size limit of the build.
 */
export type SourceMap = {
  sources: string[];
  sourcesContent: (string | null)[];
  mappings: string;
};

/** The module of an artifact that a build bundles. */
export const MAIN_MODULE = "main.js";

const FRAME = /(?<![\w./-])main\.js:(\d{1,7}):(\d{1,7})/g;
/** Maximum number of frames that are mapped in a text. V8 records ten for each error. */
const MAX_FRAMES = 100;
const MAX_LINE_CHARACTERS = 200;

/** Whether a text may name positions of the bundle. */
export function hasFrames(text: string): boolean {
  return text.includes(`${MAIN_MODULE}:`);
}

/**
 * Replaces positions of the bundle by those of the sources. Appends to each text the source line of its first frame that
 * has one. Reads the map once for all texts.
 */
export function mapStacks(map: SourceMap, texts: readonly string[]): string[] {
  return mapFrames(map, texts).map(({ mapped, excerpt }) =>
    excerpt === null ? mapped : `${mapped}\n\n${excerpt}`,
  );
}

/** Returns the position and the source line of the first frame of `stack` whose source the map has, or `null`. */
export function excerptOf(map: SourceMap, stack: string): string | null {
  return mapFrames(map, [stack])[0]?.excerpt ?? null;
}

type MappedText = { mapped: string; excerpt: string | null };

function mapFrames(map: SourceMap, texts: readonly string[]): MappedText[] {
  const frames = texts.map((text) => [...text.matchAll(FRAME)].slice(0, MAX_FRAMES));
  const positions = frames.flat().map(([, line, column]) => ({
    line: Number(line) - 1,
    column: Number(column) - 1,
  }));
  const origins = findOrigins(map.mappings, positions);
  return texts.map((text, at) => {
    const own = frames[at] ?? [];
    return withOrigins(map, text, own, origins.splice(0, own.length));
  });
}

function withOrigins(
  map: SourceMap,
  text: string,
  frames: RegExpExecArray[],
  origins: (SourceOrigin | null)[],
): MappedText {
  let [mapped, end] = ["", 0];
  let excerpt: string | null = null;
  for (const [at, frame] of frames.entries()) {
    const origin = origins[at] ?? null;
    const path = origin && map.sources[origin.source];
    if (!origin || path === undefined || path === null) continue;
    const place = `${path}:${origin.line + 1}:${origin.column + 1}`;
    mapped += text.slice(end, frame.index) + place;
    end = frame.index + frame[0].length;
    excerpt ??= lineAt(map.sourcesContent[origin.source], origin, place);
  }
  return { mapped: mapped + text.slice(end), excerpt };
}

function lineAt(
  content: string | null | undefined,
  { line, column }: { line: number; column: number },
  place: string,
): string | null {
  const text = content?.split("\n", line + 1)[line];
  if (text === undefined) return null;
  return `${place}\n${pointer(text, column)}`;
}

/** Returns a source line with a caret below its column. Cuts long lines, such as minified ones. */
export function pointer(text: string, column: number): string {
  const start = Math.max(0, column - MAX_LINE_CHARACTERS / 2);
  const shown = text.slice(start, start + MAX_LINE_CHARACTERS).replace(/\r$/, "");
  const indent = shown.slice(0, column - start).replace(/[^\t]/g, " ");
  return `    ${shown}\n    ${indent}^`;
}
