import { type Node, parseSync } from "oxc-parser";
import type { Source } from "./sources.ts";
import { walk } from "./walk.ts";

const FUNCTIONS = ["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"];

/** Returns each function with its lines, signature included. Methods count for a function that returns a class. */
export function functionsOf({ path, text }: Source): [place: string, lines: number][] {
  const lineAt = (offset: number) => text.slice(0, offset).split("\n").length;
  const found: [string, number][] = [];
  walk(parseSync(path, text).program, (node) => {
    const { type, start, end } = node;
    if (!FUNCTIONS.includes(type) || returnsClass(node)) return;
    found.push([`${path}:${lineAt(start)}`, lineAt(end) - lineAt(start) + 1]);
  });
  return found;
}

function returnsClass(node: Node): boolean {
  if (!("body" in node) || node.body === null || !("body" in Object(node.body))) return false;
  const { body } = node.body as { body: unknown };
  const last = Array.isArray(body) ? (body.at(-1) as Node | undefined) : undefined;
  return last?.type === "ReturnStatement" && last.argument?.type === "ClassExpression";
}
