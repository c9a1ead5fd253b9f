// Finds tests that a busy machine may fail: compared durations, waits that do not use `eventually`, and fake timers in
// an isolate whose other work uses them.
import { type Node, parseSync } from "oxc-parser";
import { walk } from "./walk.ts";

type TestSource = { path: string; text: string };

/** The only file that may call `vi.waitFor` and `vi.waitUntil`. */
const HELPER = "test/support/eventually.ts";

const CLOCK = /\b(?:performance|Date)\.now\(\)/;
const COMPARISON = /^toBe(?:Less|Greater)Than(?:OrEqual)?$/;
const COMPARING = ["<", "<=", ">", ">="];
/** A process runs one file of these tests at a time. */
const ALONE = /^test\/(?:node|e2e|s3)\//;
const ONLY_DATE = /toFake: \["Date"\]/;
const WAITS = ["vi.waitFor", "vi.waitUntil"];

export function findClocks(sources: readonly TestSource[]): string[] {
  return sources.filter(({ path }) => path !== HELPER).flatMap(clocksOf);
}

function clocksOf({ path, text }: TestSource): string[] {
  const { program } = parseSync(path, text);
  const durations = durationsOf(program, text);
  const found: string[] = [];
  const report = ({ start }: Node, because: string) => {
    found.push(`${path}:${text.slice(0, start).split("\n").length}: ${because}`);
  };
  walk(program, (node) => {
    if (node.type !== "CallExpression") return;
    if (WAITS.includes(textOf(node.callee, text))) report(node, "use eventually()");
    if (isSharedTimer(node, path, text)) report(node, 'fakes more than "Date" inside workerd');
    if (isComparedDuration(node, durations, text)) report(node, "compares elapsed time");
  });
  return found;
}

/** Inside workerd, unfinished work of an earlier test file runs on the same timers. */
function isSharedTimer(node: Node, path: string, text: string): boolean {
  if (node.type !== "CallExpression" || ALONE.test(path)) return false;
  return textOf(node.callee, text) === "vi.useFakeTimers" && !ONLY_DATE.test(textOf(node, text));
}

/** Returns names of variables whose value is computed from a difference of times. */
function durationsOf(program: Node, text: string): Set<string> {
  const durations = new Set<string>();
  walk(program, (node) => {
    if (node.type !== "VariableDeclarator" || node.id.type !== "Identifier" || !node.init) return;
    if (hasDuration(node.init, durations, text)) durations.add(node.id.name);
  });
  return durations;
}

function isComparedDuration(node: Node, durations: Set<string>, text: string): boolean {
  if (node.type !== "CallExpression") return false;
  if (isNamed(node.callee, "expect")) {
    return node.arguments.some((argument) => hasComparison(argument, durations, text));
  }
  if (node.callee.type !== "MemberExpression" || node.callee.property.type !== "Identifier") {
    return false;
  }
  if (!COMPARISON.test(node.callee.property.name)) return false;
  const measured = expectedOf(node.callee.object);
  return measured !== null && hasDuration(measured, durations, text);
}

/** Returns the argument of `expect(...)` below a chain such as `expect(...).not`. */
function expectedOf(node: Node): Node | null {
  if (node.type === "MemberExpression") return expectedOf(node.object);
  if (node.type !== "CallExpression") return null;
  return isNamed(node.callee, "expect") ? (node.arguments[0] ?? null) : expectedOf(node.callee);
}

function hasComparison(node: Node, durations: Set<string>, text: string): boolean {
  let isFound = false;
  walk(node, (inner) => {
    if (inner.type !== "BinaryExpression" || !COMPARING.includes(inner.operator)) return;
    isFound ||= [inner.left, inner.right].some((side) => hasDuration(side, durations, text));
  });
  return isFound;
}

/** Whether a value has a difference from the current time. The body of a function is not its value. */
function hasDuration(node: Node, durations: Set<string>, text: string): boolean {
  if (/Function/.test(node.type)) return false;
  let isFound = false;
  walk(node, (inner, parent) => {
    isFound ||= isElapsed(inner, text);
    isFound ||=
      inner.type === "Identifier" && durations.has(inner.name) && !isProperty(inner, parent);
  });
  return isFound;
}

/** Whether the node subtracts from the current time. A later time minus the current one is an expiry. */
function isElapsed(node: Node, text: string): boolean {
  return (
    node.type === "BinaryExpression" && node.operator === "-" && CLOCK.test(textOf(node.left, text))
  );
}

function isProperty(node: Node, parent: Node | null): boolean {
  return parent?.type === "MemberExpression" && parent.property === node;
}

function isNamed(node: Node, name: string): boolean {
  return node.type === "Identifier" && node.name === name;
}

function textOf({ start, end }: Node, text: string): string {
  return text.slice(start, end);
}
