import { parseSyml } from "@yarnpkg/parsers";
import { isRecord } from "../../../shared/guards.ts";
import { MAX_DEPTH } from "../../../shared/http/depth.ts";
import { assertSize } from "../config/json-file.ts";
import { BuildFailure } from "../failure.ts";
import { JSON_BYTES, PACKAGE_LIMITS } from "../limits.ts";

type Fields = Record<string, unknown>;

/**
 * Parses yarn.lock or pnpm-lock.yaml by yarn's own parser, which reads yarn's first format and YAML. Every scalar is a
 * text.
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
 * Refuses aliases, which lockfiles do not have: a kilobyte of them can mean gigabytes. Only ranges share entries: the
 * parser gives each range of a list the same object.
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

/** `patched`: names with or without a version. */
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

export function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
