import { isRecord } from "../../shared/guards.ts";
import { isShallow } from "../../shared/http/depth.ts";
import type { Convention, RunField, RunType } from "./conventions/convention.ts";
import { GEN_AI } from "./conventions/gen-ai.ts";
import { OPENINFERENCE } from "./conventions/openinference.ts";
import { LANGSMITH, PYDANTIC_AI, TRACELOOP, VERCEL_AI_SDK } from "./conventions/products.ts";
import { toList } from "./numbered.ts";
import type { Attributes } from "./span.ts";

/** The first convention that has an attribute for a field wins, and in it the attribute that is listed first. */
const CONVENTIONS: readonly Convention[] = [
  ...[LANGSMITH, GEN_AI, OPENINFERENCE, TRACELOOP, PYDANTIC_AI, VERCEL_AI_SDK],
];
const PREFIXES = CONVENTIONS.flatMap(({ prefixes }) => Object.entries(prefixes));
const LISTS = CONVENTIONS.flatMap(({ lists }) => Object.entries(lists));
/** Prefixes by namespace, the part before the first dot: attributes of other namespaces skip the search. */
const [KEYED, NUMBERED] = [byNamespace(PREFIXES), byNamespace(LISTS)];
const FIELDS = ranked(CONVENTIONS.flatMap(({ fields }) => Object.entries(fields)));
const RUN_TYPES = ranked(CONVENTIONS.flatMap(({ run_types }) => Object.entries(run_types)));

function byNamespace<T>(prefixes: [string, T][]): Map<string, [string, T][]> {
  return Map.groupBy(prefixes, ([prefix]) => namespaceOf(prefix));
}

function namespaceOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf(".")));
}

/** Returns the meaning of each attribute with its rank. A lower rank overrides a higher one. */
function ranked<T>(entries: [string, T][]): Map<string, { rank: number; meaning: T }> {
  return new Map(entries.map(([name, meaning], rank) => [name, { rank, meaning }]));
}

/** Fields of a run that its attributes name. */
export type RunDraft = {
  fields: Map<RunField, unknown>;
  run_type: RunType | null;
  /** Attributes that give neither a field nor a run type, and those of `TYPES_WITH_DATA`. */
  rest: Map<string, unknown>;
};

/** Reads the attributes by the tables of the conventions. */
export function readAttributes(attributes: Attributes): RunDraft {
  const draft: RunDraft = { fields: new Map(), run_type: null, rest: new Map() };
  const best = { rank: Number.POSITIVE_INFINITY };
  const ranks = new Map<RunField, number>();
  const others: [string, unknown][] = [];
  for (const attribute of attributes) {
    const [name, value] = attribute;
    const isType = readRunType(draft, name, value, best);
    const isField = readField(draft, name, value, ranks);
    if (!isType && !isField) others.push(attribute);
  }
  readPrefixes(draft, others);
  return draft;
}

/** @returns whether the attribute has nothing but a run type */
function readRunType(
  draft: RunDraft,
  name: string,
  value: unknown,
  best: { rank: number },
): boolean {
  const found = RUN_TYPES.get(name);
  if (found === undefined) return false;
  const run_type = typeOf(found.meaning, String(value).toLowerCase());
  if (run_type !== null && found.rank <= best.rank) {
    draft.run_type = run_type;
    best.rank = found.rank;
  }
  return !TYPES_WITH_DATA.has(name);
}

function readField(
  draft: RunDraft,
  name: string,
  value: unknown,
  ranks: Map<RunField, number>,
): boolean {
  const found = FIELDS.get(name);
  if (found === undefined || value === null) return false;
  const { rank, meaning } = found;
  if (rank > (ranks.get(meaning) ?? Number.POSITIVE_INFINITY)) return true;
  draft.fields.set(meaning, parseValue(meaning, value));
  ranks.set(meaning, rank);
  return true;
}

function typeOf(types: Record<string, RunType>, value: string): RunType | null {
  return (Object.hasOwn(types, value) ? types[value] : types["*"]) ?? null;
}

/** Attributes that give a run type and are metadata too. */
const TYPES_WITH_DATA = new Set(["gen_ai.operation.name", "llm.prompt_template.variables"]);

function readPrefixes(draft: RunDraft, attributes: [string, unknown][]): void {
  const numbered = new Map<string, [string, unknown][]>();
  for (const [name, value] of attributes) {
    if (!readPrefixed(draft, numbered, name, value)) draft.rest.set(name, value);
  }
  if (numbered.size === 0) return;
  for (const [prefix, target] of LISTS) {
    const items = numbered.get(prefix);
    if (items && !draft.fields.has(target)) draft.fields.set(target, toList(items));
  }
}

function readPrefixed(
  { fields }: RunDraft,
  numbered: Map<string, [string, unknown][]>,
  name: string,
  value: unknown,
): boolean {
  const namespace = namespaceOf(name);
  const keyed = KEYED.get(namespace)?.find(([prefix]) => name.startsWith(prefix));
  const list = NUMBERED.get(namespace)?.find(([prefix]) => name.startsWith(prefix));
  if (keyed) fields.set(`${keyed[1]}.${name.slice(keyed[0].length)}`, value);
  else if (list) addTo(numbered, list[0], [name.slice(list[0].length), value]);
  return keyed !== undefined || list !== undefined;
}

function addTo<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

const TEXTS = /^(name|project|project_id|tags|metadata\..*)$/;

function parseValue(target: RunField, value: unknown): unknown {
  return TEXTS.test(target) ? value : parseText(value);
}

/** Parses a text that is a JSON object or list, unless it is nested too deep. Returns every other value as it is. */
export function parseText(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    const json: unknown = JSON.parse(value);
    return isShallow(json) ? json : value;
  } catch {
    return value;
  }
}

/**
 * Returns values by key: those of the object in the field `name`, and those of the fields `name.*`, which win. A key of
 * such a field may have dots.
 */
export function fieldsBelow(draft: RunDraft, name: "metadata" | "invocation_params" | "usage") {
  const whole = parseText(draft.fields.get(name));
  const found = new Map<string, unknown>(isRecord(whole) ? Object.entries(whole) : []);
  for (const [target, value] of draft.fields) {
    if (target.startsWith(`${name}.`)) found.set(target.slice(name.length + 1), value);
  }
  return found;
}
