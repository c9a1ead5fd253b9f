import { BuildFailure } from "./failure.ts";
import type { Tree } from "./tree.ts";

export const SCRIPT = /\.[cm]?[jt]sx?$/;

/** `agent.js` may be written as `agent.ts`, as TypeScript's own imports are. */
export function findScript(tree: Tree, source: string): string | undefined {
  const twin = source.replace(/\.([cm]?)js(x?)$/, ".$1ts$2");
  return [source, twin].find((candidate) => tree.files.has(candidate));
}

export function wrong(path: string, key: string, wanted: string, found: unknown): BuildFailure {
  const kind =
    found === undefined ? "missing" : `${Array.isArray(found) ? "a list" : JSON.stringify(found)}`;
  return new BuildFailure("config_invalid", `${path}: ${key} must be ${wanted}; it is ${kind}.`);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
