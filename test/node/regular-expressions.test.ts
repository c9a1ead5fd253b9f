import { globSync, readFileSync } from "node:fs";
import { checkSync } from "recheck/lib/browser.js";
import { expect, test } from "vitest";
import { parseAst } from "vitest/node";

/** Folders whose regular expressions read input of users. */
const SOURCES = "src/{control-plane/{builds,deployments},shared,agent-server/webhooks}/**/*.ts";
/** Expressions that are not linear, with the reason why that does no harm. */
const REVIEWED = new Map([["\\{(.+?)\\}", "shared/operations.ts: paths of Heddle's own routes"]]);
/** Files that make expressions of texts, with the reason why that does no harm. */
const COMPUTED = new Map([
  ["src/agent-server/webhooks/service.ts", "one character class with a bounded count"],
  ["src/control-plane/builds/bundle/requires.ts", "a name, and classes that do not overlap"],
  ["src/control-plane/builds/config/http-config.ts", "is compiled only to check its syntax"],
]);

/** The checker counts characters. On a busy machine its limits of time would find unsafe expressions by chance. */
const COUNTED = { attackTimeout: null, incubationTimeout: null, seedingTimeout: null };

type RegExpLiteral = { pattern: string; flags: string };
type Expression = { file: string; source: string; flags: string };

test("regular expressions that read input of users take linear time, or have a stated bound", () => {
  const found = globSync(SOURCES).sort().flatMap(expressionsOf);
  expect(found.length).toBeGreaterThan(80);
  const unsafe = found.filter(({ source, flags }) => !isSafe(source, flags));
  const unreviewed = unsafe.filter(({ source }) => !REVIEWED.has(source));
  expect(unreviewed.map(({ file, source }) => `${file}: ${source}`)).toEqual([]);
  const used = new Set(unsafe.map(({ source }) => source));
  expect([...REVIEWED.keys()].filter((source) => !used.has(source))).toEqual([]);
}, 1_200_000);

test("expressions are made of texts only where that was reviewed", () => {
  const files = globSync(SOURCES).filter((file) => /\bRegExp\(/.test(readFileSync(file, "utf8")));
  expect(files.sort()).toEqual([...COMPUTED.keys()]);
});

test("the checker finds an expression that takes quadratic time", () => {
  expect(isSafe("\\/+$", "")).toBe(false);
});

function isSafe(source: string, flags: string): boolean {
  return checkSync(source, flags, { timeout: 120_000, ...COUNTED }).status === "safe";
}

function expressionsOf(file: string): Expression[] {
  const found: Expression[] = [];
  visit(parseAst(readFileSync(file, "utf8"), { lang: "ts" }), (node) => {
    if (!("regex" in node)) return;
    const { pattern, flags } = node.regex as RegExpLiteral;
    found.push({ file, source: pattern, flags });
  });
  return found;
}

function visit(node: unknown, see: (node: object) => void): void {
  if (typeof node !== "object" || node === null) return;
  see(node);
  for (const child of Object.values(node)) visit(child, see);
}
