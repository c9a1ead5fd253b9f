import { parseSync } from "oxc-parser";
import type { Source } from "./sources.ts";
import { walk } from "./walk.ts";

const FUNCTIONS = ["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"];

/** Returns each function with its lines, signature included. */
export function functionsOf({ path, text }: Source): [place: string, lines: number][] {
  const lineAt = (offset: number) => text.slice(0, offset).split("\n").length;
  const found: [string, number][] = [];
  walk(parseSync(path, text).program, ({ type, start, end }) => {
    if (!FUNCTIONS.includes(type)) return;
    found.push([`${path}:${lineAt(start)}`, lineAt(end) - lineAt(start) + 1]);
  });
  return found;
}
