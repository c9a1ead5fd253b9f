import { isRecord } from "../shared/guards.ts";
import { toMicros } from "../shared/times.ts";
import type { Digest, ExtraDigest, PairDigest, PairSource, PayloadDigest } from "./changes.ts";
import { MAX_KEYS_PER_RUN, MAX_PAIRS_CHARS, MAX_SEARCH_CHARS, MAX_VALUE_CHARS } from "./limits.ts";
import { termOf } from "./terms.ts";
import { findUsage, usageOfMetadata } from "./usage.ts";

/** Dotted path, value as text, and value as number when it is a number. */
export type Pair = [key: string, value: string, number: number | null];

const MAX_PAIRS = 500;
const THREAD_KEYS = ["session_id", "thread_id", "conversation_id"];

/** Number of keys a run may still add: metadata, inputs and outputs share the limit. */
export type KeyBudget = { keys: number };

export function digestInputs(value: unknown, budget: KeyBudget = fullKeyBudget()): PayloadDigest {
  const pairs = toPairs(value);
  return { ...digestPairs("i", pairs, budget), search: searchOf(pairs) };
}

export function digestOutputs(
  value: unknown,
  budget: KeyBudget = fullKeyBudget(),
): NonNullable<Digest["outputs"]> {
  const pairs = toPairs(value);
  return { ...digestPairs("o", pairs, budget), search: searchOf(pairs), usage: findUsage(value) };
}

export function digestExtra(value: unknown, budget: KeyBudget = fullKeyBudget()): ExtraDigest {
  const metadata = isRecord(value) && isRecord(value.metadata) ? value.metadata : {};
  return {
    ...digestPairs("m", toPairs(metadata), budget),
    thread_id: threadOf(metadata),
    usage: usageOfMetadata(metadata),
  };
}

export function fullKeyBudget(): KeyBudget {
  return { keys: MAX_KEYS_PER_RUN };
}

/** Returns the time of the first `new_token` event. */
export function firstToken(events: unknown): number | undefined {
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
    if (typeof value === "string" && value !== "") return value;
    if (typeof value === "number") return String(value);
  }
  return null;
}

/** Flattens a value. Each element of an array adds a pair with the array's path. */
export function toPairs(value: unknown): Pair[] {
  const pairs: Pair[] = [];
  const keys = new Set<string>();
  const stack: { path: string; value: unknown }[] = [{ path: "", value }];
  while (stack.length > 0 && pairs.length < MAX_PAIRS) {
    const next = stack.pop();
    if (next === undefined) break;
    const inner = children(next.path, next.value);
    if (inner !== null) {
      stack.push(...inner.slice(0, MAX_PAIRS).reverse());
    } else if (next.path !== "" && addKey(keys, next.path)) {
      pairs.push(toPair(next.path, next.value));
    }
  }
  return pairs;
}

function children(path: string, value: unknown): { path: string; value: unknown }[] | null {
  if (Array.isArray(value)) return value.map((element) => ({ path, value: element }));
  if (!isRecord(value)) return null;
  const prefix = path === "" ? "" : `${path}.`;
  return Object.entries(value).map(([key, inner]) => ({ path: prefix + key, value: inner }));
}

function addKey(keys: Set<string>, path: string): boolean {
  if (!keys.has(path) && keys.size >= MAX_KEYS_PER_RUN) return false;
  keys.add(path);
  return true;
}

function toPair(path: string, value: unknown): Pair {
  const key = path.slice(0, MAX_VALUE_CHARS);
  if (typeof value === "number") return [key, String(value), value];
  if (typeof value !== "string") return [key, String(value), null];
  return [key, value.slice(0, MAX_VALUE_CHARS), null];
}

/** Encodes pairs as a JSON object. Numbers become `[text, number]`; keys of arrays repeat. */
export function digestPairs(
  kind: PairSource,
  pairs: Pair[],
  budget: KeyBudget = fullKeyBudget(),
): PairDigest {
  const keys = new Set<string>();
  const members: string[] = [];
  const terms: number[] = [];
  let chars = 0;
  for (const [key, value, number] of pairs) {
    if (!keys.has(key) && keys.size >= budget.keys) continue;
    const text = number === null ? JSON.stringify(value) : JSON.stringify([value, number]);
    const member = `${JSON.stringify(key)}:${text}`;
    chars += member.length;
    if (chars > MAX_PAIRS_CHARS) break;
    keys.add(key);
    members.push(member);
    terms.push(termOf(kind, key, value));
  }
  budget.keys -= keys.size;
  return { pairs: `{${members.join()}}`, terms };
}

function searchOf(pairs: Pair[]): string {
  let text = "";
  for (const [, value] of pairs) {
    if (text.length > MAX_SEARCH_CHARS) break;
    text += `${value}\n`;
  }
  return text.toLowerCase();
}
