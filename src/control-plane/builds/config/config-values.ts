import { isRecord } from "../../../shared/guards.ts";
import type { BuildFailureReason, NamedExport } from "../contract.ts";
import { BuildFailure } from "../failure.ts";
import { joinPath } from "../paths.ts";
import { assertContent } from "../source/references.ts";
import type { Tree } from "../tree.ts";

export const SCRIPT = /\.[cm]?[jt]sx?$/;

/** The source, with the path and the folder of langgraph.json in it. */
export type ConfigLocation = { tree: Tree; path: string; folder: string };

/**
 * Returns the path of a script, `undefined` when it does not exist. `agent.js` also finds `agent.ts`, as in imports of
 * TypeScript. @throws BuildFailure when git stores only a reference to the file
 */
export function findScript(
  tree: Tree,
  source: string,
  reason: BuildFailureReason = "config_invalid",
): string | undefined {
  const twin = source.replace(/\.([cm]?)js(x?)$/, ".$1ts$2");
  const found = [source, twin].find((candidate) => tree.files.has(candidate));
  assertContent(tree, found ?? source, reason);
  return found;
}

export function wrong(path: string, key: string, wanted: string, found: unknown): BuildFailure {
  const kind =
    found === undefined ? "missing" : `${Array.isArray(found) ? "a list" : JSON.stringify(found)}`;
  return new BuildFailure("config_invalid", `${path}: ${key} must be ${wanted}; it is ${kind}.`);
}

export function section(
  { path }: ConfigLocation,
  key: string,
  value: unknown,
): Record<string, unknown> {
  if (value === undefined || value === null) return {};
  if (!isRecord(value)) throw wrong(path, `"${key}"`, "an object", value);
  return value;
}

/** Reads `file:export`. The file is relative to the folder of langgraph.json. */
export function readExport(
  { tree, path, folder }: ConfigLocation,
  key: string,
  value: unknown,
  wanted: string,
): NamedExport {
  const [file = "", ...rest] = typeof value === "string" ? value.split(":") : [];
  if (file.endsWith(".py")) {
    const text = `${path}: "${key}" is Python (${file}); Heddle runs JavaScript and TypeScript.`;
    throw new BuildFailure("unsupported_language", text);
  }
  if (!SCRIPT.test(file)) throw wrong(path, `"${key}"`, wanted, value);
  const source = joinPath(folder, file);
  const found = findScript(tree, source);
  if (found !== undefined) return { path: found, export_name: rest.join(":") || "default" };
  throw new BuildFailure(
    "config_invalid",
    `${path}: "${key}" is in ${source}, which does not exist.`,
  );
}
