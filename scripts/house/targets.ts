import { findCircles } from "./circles.ts";
import { brokenCalls, REQUESTS, roomsOf } from "./requests.ts";
import { importViolations } from "./rules.ts";
import { countBy, filesOf, folderOf, foldersOf, type Source } from "./sources.ts";

/** A target of the structure: what was measured, its bound, and where it is missed. */
export type Target = { name: string; measured: number; bound: number; misses: string[] };

const MAX_FILES = 540;
const MAX_LINES = 44_000;
const MAX_FOLDER = 15;
const MAX_FILE_LINES = 200;
const CRUMB_LINES = 30;
const MAX_ROOMS = 12;

export function linesOf({ text }: Source): number {
  return text.trimEnd().split("\n").length;
}

export function measureTargets(sources: readonly Source[]): Target[] {
  const circles = [...findCircles(filesOf(sources)), ...findCircles(foldersOf(sources))];
  const folders = [...countBy(sources, folderOf)].filter(([, files]) => files > MAX_FOLDER);
  const long = sources.filter((source) => linesOf(source) > MAX_FILE_LINES);
  return [
    none(
      "circles of files and folders",
      circles.map((circle) => circle.join(" <-> ")),
    ),
    none("imports against the rules (arrows upward)", importViolations(sources)),
    none(
      `folders of more than ${MAX_FOLDER} files`,
      folders.map(([folder]) => folder),
    ),
    count("files", sources.length, MAX_FILES),
    count(
      "lines",
      sources.reduce((sum, source) => sum + linesOf(source), 0),
      MAX_LINES,
    ),
    none(
      `files of more than ${MAX_FILE_LINES} lines`,
      long.map(({ path }) => path),
    ),
    none(`files under ${CRUMB_LINES} lines that one file imports`, crumbsOf(sources)),
    ...Object.entries(REQUESTS).flatMap(([request, calls]) => {
      const { rooms, revisited } = roomsOf(calls);
      return [
        none(`${request}: calls of the table that do not exist`, brokenCalls(sources, calls)),
        count(`${request}: rooms from route to storage`, rooms.length, MAX_ROOMS),
        none(`${request}: files entered from two files`, revisited),
      ];
    }),
  ];
}

function none(name: string, misses: string[]): Target {
  return { name, measured: misses.length, bound: 0, misses };
}

function count(name: string, measured: number, bound: number): Target {
  return { name, measured, bound, misses: [] };
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
