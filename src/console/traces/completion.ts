import { FIELDS, FUNCTIONS, type TypedToken, tokensOf } from "./language.ts";

export type Completion = { label: string; insert: string; hint: string };
export type Completions = { from: number; to: number; options: Completion[] };

/** Values that occur in the traces, by field. They are in quotes. */
export type KnownValues = Record<string, string[]>;

/** A call or a list that is open at the caret. */
type Frame = {
  /** Name of the function, `[` for a list. */
  name: string;
  /** First argument: the field that the values belong to. */
  field: string;
  /** Position of the argument at the caret, counted from 0. Always 1 in a list. */
  position: number;
};

const COMBINES = ["and", "or", "not"];
const MAX_OPTIONS = 8;

/** Completes what is being typed at the caret. */
export function completionsAt(text: string, caret: number, known: KnownValues = {}): Completions {
  const tokens = tokensOf(text.slice(0, caret));
  const last = tokens.at(-1);
  const isTyping = last !== undefined && last.at + last.text.length === caret && isPart(last.text);
  const before = isTyping ? tokens.slice(0, -1) : tokens;
  const frame = frameOf(before);
  // A filter is one call: nothing follows it.
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

function isPart(text: string): boolean {
  return !/^[()[\],]$/.test(text);
}

/** Returns the call, or the list in a call, that encloses the caret. `null` outside of any call. */
function frameOf(tokens: TypedToken[]): Frame | null {
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
