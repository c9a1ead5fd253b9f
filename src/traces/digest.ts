import { isRecord } from "../shared/guards.ts";
import { toMicros } from "../shared/times.ts";
import type { Digest, ExtraDigest, Pair, PairDigest, PairSource } from "./changes.ts";
import {
  MAX_KEYS_PER_RUN,
  MAX_PAIRS_CHARS,
  MAX_SEARCH_CHARS,
  MAX_THREAD_ID,
  MAX_VALUE_CHARS,
} from "./limits.ts";
import { pairTerm } from "./terms.ts";
import { findUsage, usageOfMetadata } from "./usage.ts";

export type { Pair } from "./changes.ts";

/** Maximum number of pairs of a payload that filters and search read. */
const MAX_PAIRS = 500;
const THREAD_KEYS = ["session_id", "thread_id", "conversation_id"];

/** Number of keys that a change may still add to the index: its metadata, inputs and outputs share the limit. */
export type KeyBudget = { keys: number };

export function digestInputs(value: unknown, budget: KeyBudget = fullKeyBudget()): PairDigest {
  return digestPairs("i", value, budget);
}

export function digestOutputs(
  value: unknown,
  budget: KeyBudget = fullKeyBudget(),
): NonNullable<Digest["outputs"]> {
  return { ...digestPairs("o", value, budget), usage: findUsage(value) };
}

export function digestExtra(value: unknown, budget: KeyBudget = fullKeyBudget()): ExtraDigest {
  const metadata = metadataOf(value);
  return {
    ...digestPairs("m", metadata, budget),
    thread_id: threadOf(metadata),
    usage: usageOfMetadata(metadata),
  };
}

/** Returns the indexed pairs of a payload: the digest has their terms. @param keys `keys` of the digest */
export function indexedPairs(kind: PairSource, value: unknown, keys: number): Pair[] {
  const leaves = readLeaves(kind === "m" ? metadataOf(value) : value);
  return limitLeaves(leaves, { keys }).map(toPair);
}

/** Returns the text that `search` reads for a payload: its values in lower case, one a line. */
export function searchTextOf(value: unknown): string {
  return searchOf(toPairs(value));
}

function metadataOf(value: unknown): Record<string, unknown> {
  return isRecord(value) && isRecord(value.metadata) ? value.metadata : {};
}

export function fullKeyBudget(): KeyBudget {
  return { keys: MAX_KEYS_PER_RUN };
}

/** Returns the time of the first `new_token` event that has one, in microseconds since 1970. */
export function firstTokenMicros(events: unknown): number | undefined {
  if (!Array.isArray(events)) return undefined;
  for (const event of events) {
    if (!isRecord(event) || event.name !== "new_token") continue;
    const { time } = event;
    if (typeof time === "string" || typeof time === "number") return toMicros(time) ?? undefined;
  }
  return undefined;
}

function threadOf(metadata: Record<string, unknown>): string | null {
  for (const key of THREAD_KEYS) {
    const value = metadata[key];
    if (typeof value === "string" && value !== "")
      return value.slice(0, MAX_THREAD_ID).toWellFormed();
    if (typeof value === "number") return String(value);
  }
  return null;
}

/** Flattens a value, within the limits of pairs and keys. The path of an array is also that of its elements. */
export function toPairs(value: unknown): Pair[] {
  return readLeaves(value).map(toPair);
}

/** Uncut path and text of a value. `pairTerm` cuts while it hashes, which spares a copy of the text. */
type Leaf = { path: string; text: string; number: number | null };

function readLeaves(value: unknown): Leaf[] {
  const leaves: Leaf[] = [];
  const keys = new Set<string>();
  const stack: Values = { paths: [""], values: [value] };
  while (stack.values.length > 0 && leaves.length < MAX_PAIRS) {
    const path = stack.paths.pop() ?? "";
    const next = stack.values.pop();
    if (typeof next === "object" && next !== null) pushInner(stack, path, next);
    else if (path !== "" && addKey(keys, path)) leaves.push(toLeaf(path, next));
  }
  return leaves;
}

/** Paths and values that are still to be read, the next one last. */
type Values = { paths: string[]; values: unknown[] };

function pushInner({ paths, values }: Values, path: string, value: object): void {
  const inner = Array.isArray(value) ? value : Object.values(value);
  const names = Array.isArray(value) ? null : Object.keys(value);
  const prefix = path === "" ? "" : `${path}.`;
  for (let n = Math.min(inner.length, MAX_PAIRS) - 1; n >= 0; n--) {
    paths.push(names === null ? path : prefix + names[n]);
    values.push(inner[n]);
  }
}

function addKey(keys: Set<string>, path: string): boolean {
  if (!keys.has(path) && keys.size >= MAX_KEYS_PER_RUN) return false;
  keys.add(path);
  return true;
}

function toLeaf(path: string, value: unknown): Leaf {
  const number = typeof value === "number" && Number.isFinite(value) ? value : null;
  return { path, text: String(value), number };
}

function toPair({ path, text, number }: Leaf): Pair {
  return [path.slice(0, MAX_VALUE_CHARS), text.slice(0, MAX_VALUE_CHARS), number];
}

function digestPairs(kind: PairSource, value: unknown, budget: KeyBudget): PairDigest {
  const { keys } = budget;
  const indexed = limitLeaves(readLeaves(value), budget);
  return { terms: indexed.map(({ path, text }) => pairTerm(kind, path, text)), keys };
}

/** Returns the leaves within the limits of the index, and subtracts their keys from the budget. */
function limitLeaves(leaves: Leaf[], budget: KeyBudget): Leaf[] {
  const keys = new Set<string>();
  const limited: Leaf[] = [];
  let chars = 0;
  for (const leaf of leaves) {
    const { path, text } = leaf;
    if (!keys.has(path) && keys.size >= budget.keys) continue;
    chars += Math.min(path.length, MAX_VALUE_CHARS) + Math.min(text.length, MAX_VALUE_CHARS);
    if (chars > MAX_PAIRS_CHARS) break;
    keys.add(path);
    limited.push(leaf);
  }
  budget.keys -= keys.size;
  return limited;
}

function searchOf(pairs: Pair[]): string {
  let text = "";
  for (const [, value] of pairs) {
    if (text.length > MAX_SEARCH_CHARS) break;
    text += `${value}\n`;
  }
  return text.toLowerCase();
}
