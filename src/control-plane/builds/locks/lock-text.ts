import { parseSyml } from "@yarnpkg/parsers";
import { isRecord } from "../../../shared/guards.ts";
import { MAX_DEPTH } from "../../../shared/http/depth.ts";
import { assertSize } from "../config/json-file.ts";
import { BuildFailure } from "../failure.ts";
import { JSON_BYTES, PACKAGE_LIMITS } from "../limits.ts";

type Fields = Record<string, unknown>;

/**
 * Parses a lockfile or a settings file of yarn or pnpm with yarn's parser, which reads the format of yarn 1 and YAML.
 * The parser returns every scalar as a string.
 */
export function parseLock(path: string, text: string): Fields {
  assertSize(path, text.length, JSON_BYTES.lockfile, "dependency_unresolved");
  try {
    const lock: unknown = parseSyml(lastDocument(text));
    assertTree(lock);
    return lock;
  } catch (error) {
    const why = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    throw unreadable(path, why);
  }
}

/** pnpm writes a document for the package manager itself before that of the project. */
function lastDocument(text: string): string {
  const documents = text.split(/^---(?=\s|$)/m);
  return documents.findLast((document) => document.trim() !== "") ?? "";
}

/**
 * Refuses YAML aliases, which lockfiles do not have: a kilobyte of them can expand to gigabytes. Only entries at the
 * top may be the same object: the parser returns one object for all ranges of a key like `a@^1, a@^2`.
 */
function assertTree(value: unknown): asserts value is Fields {
  if (!isRecord(value)) throw new Error("it is not a list of packages");
  const seen = new Set<unknown>();
  let level: unknown[] = [...new Set(Object.values(value).filter(isContainer))];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw new Error(`it is nested more than ${MAX_DEPTH} levels deep`);
    for (const each of level) {
      if (seen.has(each)) throw new Error("it has YAML aliases");
      seen.add(each);
    }
    level = level.flatMap((each) => Object.values(each as Fields).filter(isContainer));
  }
}

function isContainer(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

export function assertEntries(path: string, entries: Fields): void {
  const count = Object.keys(entries).length;
  if (count <= PACKAGE_LIMITS.lockfile_entries) return;
  throw unreadable(
    path,
    `it has ${count} packages; ${PACKAGE_LIMITS.lockfile_entries} are allowed`,
  );
}

export function unreadable(path: string, why: string): BuildFailure {
  return new BuildFailure("dependency_unresolved", `${path} cannot be read: ${why}.`);
}

export function unpatched(path: string, name: string): string {
  return `${path} cannot be used: ${name} has a patch, which Heddle does not apply; publish a fork.`;
}

/** @param patched names with or without a version, like `ms` and `ms@2.1.3` */
export function refusalOfPatch(path: string, patched: string[], name: string, version: string) {
  const found = patched.find((each) => each === name || each === `${name}@${version}`);
  return found === undefined ? {} : { refusal: unpatched(path, found) };
}

export function record(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

/** @returns the entries of `value` that are texts */
export function texts(value: unknown): Record<string, string> {
  const entries = Object.entries(record(value));
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

/** @returns `undefined` for an empty text too */
export function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
