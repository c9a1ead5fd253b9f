import { stripTypeScriptTypes } from "node:module";
import { parse } from "acorn";
import { full } from "acorn-walk";
import type { Source } from "./sources.ts";

const FUNCTIONS = ["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"];

/** Returns each function with its lines, signature included. */
export function functionsOf({ path, text }: Source): [place: string, lines: number][] {
  // Types become blanks, so that positions stay.
  const script = stripTypeScriptTypes(text);
  const tree = parse(script, { ecmaVersion: "latest", sourceType: "module", locations: true });
  const found: [string, number][] = [];
  full(tree, ({ type, loc }) => {
    if (!FUNCTIONS.includes(type) || !loc) return;
    found.push([`${path}:${loc.start.line}`, loc.end.line - loc.start.line + 1]);
  });
  return found;
}
