// Finds words and sentences that the project does not use: in comments, names and texts.
import { type Comment, type Node, parseSync } from "oxc-parser";
import { ALLOWED_WORDS, type AllowedWord } from "./allowed-words.ts";
import { walk } from "./walk.ts";

export type WordFinding = { path: string; line: number; text: string; because: string };
type Source = { path: string; text: string };
type Match = { start: number; text: string; because: string };

const VERBS = "tell|tells|told|telling|say|says|said|hear|hears|heard|ask|asks|asked|asking";
const PEOPLE = "nobody|somebody|whoever|asker|meanwhile";
const WORD = new RegExp(`^(${VERBS}|${PEOPLE})$`);
/** Words and phrases that prose does not use. */
export const PHRASE = new RegExp(
  `\\b(${VERBS}|${PEOPLE}|by then|stands|lies|goes on|is there|of its own|as it came|made up for|is no (?!longer|more))\\b`,
  "i",
);
const BEGINNING = /^(Of|What|Who|Whose|Whoever|By|As|Those|It|One|Null|Nobody|Here)\b/;
/** Participles, and `Place`, which had many meanings. */
const TYPE_NAME = /^(Asked|Told|Kept|Known|Found|Opened|Place)$/;
/** Exported types that are a participle. `OnRunCompleted` is the name of a field. */
const EXPORTED_PARTICIPLE =
  /^export (?:type|interface) (?!OnRunCompleted\b)(\w*[a-z](?:(?<!e)ed|ought))\b/gm;
const NAMED_AFTER = "a type is named after a thing";
const NAMES = ["Identifier", "PrivateIdentifier"];
const TEST_CALLS = /^(test|it|describe)$/;

/** Findings of all sources, without those that are allowed, and the entries of the list that allow nothing. */
export function checkWords(sources: readonly Source[]): [WordFinding[], AllowedWord[]] {
  const found = sources.flatMap(findWords);
  const isAllowed =
    ({ path, text }: WordFinding) =>
    (allowed: AllowedWord) =>
      allowed.path === path && text.includes(allowed.text);
  const unused = ALLOWED_WORDS.filter((entry) => !found.some((each) => isAllowed(each)(entry)));
  return [found.filter((each) => !ALLOWED_WORDS.some(isAllowed(each))), unused];
}

export function findWords({ path, text }: Source): WordFinding[] {
  const { program, comments } = parseSync(path, text);
  const found = blocksOf(comments, text).flatMap(checkComment);
  if (!path.startsWith("test/")) found.push(...participlesOf(text));
  const names = new Set<string>();
  walk(program, (node, parent) => {
    found.push(...checkNode(node, parent, names, path.startsWith("test/")));
  });
  const lineAt = (start: number) => text.slice(0, start).split("\n").length;
  return found.map(({ start, ...rest }) => ({ path, line: lineAt(start), ...rest }));
}

/** Comments of several lines are one. */
function blocksOf(comments: readonly Comment[], text: string): Comment[] {
  const blocks: Comment[] = [];
  for (const comment of comments) {
    const last = blocks.at(-1);
    const joins =
      last && comment.type === "Line" && text.slice(last.end, comment.start).trim() === "";
    if (joins)
      blocks[blocks.length - 1] = { ...last, value: last.value + comment.value, end: comment.end };
    else blocks.push(comment);
  }
  return blocks;
}

function checkComment({ value, start }: Comment): Match[] {
  const text = value
    .replace(/^[\s*]+/, "")
    .replace(/\n\s*\*\s?/g, " ")
    .trim();
  if (/^(biome-ignore|@ts-|\/)/.test(text)) return [];
  const first = BEGINNING.exec(text)?.[0];
  const beginning = first ? [{ start, text, because: `a comment begins with "${first}"` }] : [];
  return [...beginning, ...checkProse(text, start)];
}

function checkProse(text: string, start: number): Match[] {
  const phrase = PHRASE.exec(text)?.[0];
  return phrase ? [{ start, text, because: `"${phrase.trim()}" in a text` }] : [];
}

function checkNode(node: Node, parent: Node | null, names: Set<string>, isTest: boolean): Match[] {
  const { start } = node;
  if (NAMES.includes(node.type) && "name" in node)
    return checkName(String(node.name), start, parent, names);
  const text = textOf(node);
  if (text === null || !/\s/.test(text.trim())) return [];
  return !isTest || isTestName(node, parent) ? checkProse(text, start) : [];
}

function textOf(node: Node): string | null {
  if (node.type === "Literal" && typeof node.value === "string") return node.value;
  if (node.type === "JSXText") return node.value;
  return node.type === "TemplateElement" ? node.value.raw : null;
}

/** Data of a test may be any text. */
function isTestName(node: Node, parent: Node | null): boolean {
  if (parent?.type !== "CallExpression" || parent.arguments[0] !== node) return false;
  let { callee }: { callee: Node } = parent;
  while (callee.type === "MemberExpression" || callee.type === "CallExpression") {
    callee = callee.type === "MemberExpression" ? callee.object : callee.callee;
  }
  return callee.type === "Identifier" && TEST_CALLS.test(callee.name);
}

function participlesOf(text: string): Match[] {
  return [...text.matchAll(EXPORTED_PARTICIPLE)].map(({ index, 1: name = "" }) => {
    return { start: index, text: name, because: NAMED_AFTER };
  });
}

/** Each name counts once in a file. */
function checkName(name: string, start: number, parent: Node | null, names: Set<string>): Match[] {
  if (names.has(name)) return [];
  names.add(name);
  const word = name
    .split(/(?=[A-Z])|_/)
    .map((part) => part.toLowerCase())
    .find((part) => WORD.test(part));
  if (word) return [{ start, text: name, because: `"${word}" in a name` }];
  const isType = parent?.type === "TSTypeAliasDeclaration" && TYPE_NAME.test(name);
  return isType ? [{ start, text: name, because: NAMED_AFTER }] : [];
}
