import { findCircles } from "./circles.ts";
import { functionsOf } from "./functions.ts";
import { importViolations } from "./rules.ts";
import { countBy, filesOf, folderOf, foldersOf, type Source } from "./sources.ts";

/** A rule of the structure, and where it is broken. */
export type Rule = { name: string; broken: string[] };

const MAX_FOLDER = 15;
/** For pages too: biome does not count lines of JSX. */
const MAX_FUNCTION_LINES = 60;
const CRUMB_LINES = 30;

export function linesOf({ text }: Source): number {
  return text.trimEnd().split("\n").length;
}

export function checkRules(sources: readonly Source[]): Rule[] {
  const circles = [...findCircles(filesOf(sources)), ...findCircles(foldersOf(sources))];
  const folders = [...countBy(sources, folderOf)].filter(([, files]) => files > MAX_FOLDER);
  const long = sources.flatMap(functionsOf).filter(([, lines]) => lines > MAX_FUNCTION_LINES);
  return [
    {
      name: "circles of files and folders",
      broken: circles.map((circle) => circle.join(" <-> ")),
    },
    { name: "imports against the rules (arrows upward)", broken: importViolations(sources) },
    {
      name: `folders of more than ${MAX_FOLDER} files`,
      broken: folders.map(([folder]) => folder),
    },
    {
      name: `functions of more than ${MAX_FUNCTION_LINES} lines`,
      broken: long.map(([place, lines]) => `${place} (${lines})`),
    },
    {
      name: `files of src under ${CRUMB_LINES} lines that one file imports`,
      // Small files of `local` are modules of other processes and plugins.
      broken: crumbsOf(sources.filter(({ path }) => path.startsWith("src/"))),
    },
  ];
}

/** Names by which other rules of the project know a file, whatever its size. */
const FIXED_NAME =
  /(^|[/-])(schema|routes|service|table|object|stub|callbacks|migrations|consumer|sweep)\.ts$/;

function crumbsOf(sources: readonly Source[]): string[] {
  const importers = new Map<string, string[]>();
  for (const { path, files } of sources) {
    for (const file of new Set(files)) importers.set(file, [...(importers.get(file) ?? []), path]);
  }
  return sources
    .filter((source) => linesOf(source) < CRUMB_LINES && !FIXED_NAME.test(source.path))
    .flatMap(({ path }) => {
      const [importer, ...others] = importers.get(path) ?? [];
      return importer && others.length === 0 ? [`${path} <- ${importer}`] : [];
    });
}
