import { FIELDS, FUNCTIONS } from "./language.ts";

export type Completion = { label: string; insert: string; hint: string };
export type Completions = { from: number; to: number; options: Completion[] };

/** Values of fields that occur, in quotes. */
export type KnownValues = Record<string, string[]>;

type Frame = { name: string; field: string; position: number };
type Token = { text: string; at: number };

const TOKEN = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[A-Za-z_][\w.]*|[()[\],]|[^\s()[\],"']+/g;
const COMBINES = ["and", "or", "not"];
const MAX_OPTIONS = 8;

/** Completes what is being typed at the caret. */
export function completionsAt(text: string, caret: number, known: KnownValues = {}): Completions {
  const tokens = tokensOf(text.slice(0, caret));
  const last = tokens.at(-1);
  const isTyping = last !== undefined && last.at + last.text.length === caret && isPart(last.text);
  const before = isTyping ? tokens.slice(0, -1) : tokens;
  const frame = frameOf(before);
  // Nothing follows a whole filter.
  if (frame === null && before.length > 0) return { from: caret, to: caret, options: [] };
  const prefix = isTyping ? last.text : "";
  const rest = text.slice(caret);
  const typed = prefix.toLowerCase().replace(/^["']/, "");
  const options = candidatesOf(frame, known, rest.trimStart().startsWith(")"))
    .filter(({ label }) => label.toLowerCase().replace(/^["']/, "").startsWith(typed))
    .filter(({ label }) => label !== prefix)
    .slice(0, MAX_OPTIONS);
  return { from: caret - prefix.length, to: caret, options };
}

export function tokensOf(text: string): Token[] {
  return [...text.matchAll(TOKEN)].map(({ 0: found, index }) => ({ text: found, at: index }));
}

function isPart(text: string): boolean {
  return !/^[()[\],]$/.test(text);
}

/** The call, or the list in a call, that encloses the caret. */
function frameOf(tokens: Token[]): Frame | null {
  const frames: Frame[] = [];
  let former = "";
  for (const { text } of tokens) {
    readToken(frames, text, former);
    former = text;
  }
  return frames.at(-1) ?? null;
}

function readToken(frames: Frame[], text: string, former: string): void {
  const frame = frames.at(-1);
  if (text === "(") frames.push({ name: former, field: "", position: 0 });
  else if (text === "[") frames.push({ name: "[", field: frame?.field ?? "", position: 1 });
  else if (text === ")" || text === "]") frames.pop();
  else if (frame) readArgument(frame, text);
}

function readArgument(frame: Frame, text: string): void {
  if (text === ",") frame.position += frame.name === "[" ? 0 : 1;
  else if (frame.position === 0) frame.field = text.replace(/["']/g, "");
}

function candidatesOf(frame: Frame | null, known: KnownValues, isClosed: boolean): Completion[] {
  if (frame === null || COMBINES.includes(frame.name)) {
    return Object.entries(FUNCTIONS).map(([name, hint]) => {
      return { label: name, insert: `${name}(`, hint };
    });
  }
  if (frame.position === 0) {
    return Object.entries(FIELDS)
      .filter(([, { functions }]) => functions.includes(frame.name))
      .map(([name, { hint }]) => ({ label: name, insert: `${name}, `, hint }));
  }
  const close = frame.name === "[" || isClosed ? "" : ")";
  const values = [...(FIELDS[frame.field]?.values ?? []), ...(known[frame.field] ?? [])];
  return [...new Set(values)].map((value) => {
    return { label: value, insert: `${value}${close}`, hint: FIELDS[frame.field]?.hint ?? "" };
  });
}

/** A filter as it is meant: bare words are searched for, unless they begin the name of a function. */
export function meantFilter(text: string): string {
  const words = text.trim();
  const isBare = words !== "" && !/[()[\]"',]/.test(words);
  const isBegun = Object.keys(FUNCTIONS).some((name) => name.startsWith(words.toLowerCase()));
  return isBare && !isBegun ? `search(${JSON.stringify(words)})` : words;
}

export type FilterError = {
  /** Counted from 0; `null` when the service names no place. */
  offset: number | null;
  end: number;
  text: string;
  /** A known name close to the wrong one. */
  fix: string | null;
};

/** Reads the service's words: `At character 27: latncy is not a field; use id, ...`. */
export function readError(message: string, filter: string): FilterError {
  const [, place, words = message] = /^At character (\d+): (.*)$/s.exec(message) ?? [];
  if (place === undefined) return { offset: null, end: 0, text: message, fix: null };
  const offset = Number(place) - 1;
  const wrong = tokensOf(filter.slice(offset))[0]?.text ?? "";
  const isName = /is not a (field|function)/.test(words);
  const names = Object.keys(/is not a function/.test(words) ? FUNCTIONS : FIELDS);
  return {
    offset,
    end: offset + Math.max(wrong.length, 1),
    text: isName ? (words.split(";")[0] ?? words) : words,
    fix: isName ? closest(wrong, names) : null,
  };
}

const MAX_DISTANCE = 3;

function closest(word: string, names: string[]): string | null {
  const near = names
    .map((name) => ({ name, distance: distanceOf(word.toLowerCase(), name) }))
    .filter(({ distance }) => distance <= MAX_DISTANCE)
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.name ?? null;
}

/** Number of edits between two short words. */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a.slice(0, 40)].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      const swap = (row[j] ?? 0) + (letter === b[j] ? 0 : 1);
      next.push(Math.min(swap, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Adds a condition to a filter, into its `and(...)` where it has one. */
export function addCondition(filter: string, condition: string): string {
  const text = filter.trim();
  if (text === "") return condition;
  if (text.includes(condition)) return text;
  return /^and\(.*\)$/s.test(text) && isOneCall(text)
    ? `${text.slice(0, -1)}, ${condition})`
    : `and(${text}, ${condition})`;
}

/** Whether the first parenthesis closes at the end of the text. */
function isOneCall(text: string): boolean {
  let level = 0;
  const tokens = tokensOf(text);
  for (const [index, { text: token }] of tokens.entries()) {
    if (token === "(") level += 1;
    if (token === ")") level -= 1;
    if (token === ")" && level === 0) return index === tokens.length - 1;
  }
  return false;
}
