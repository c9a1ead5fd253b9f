import { isId } from "../../state/search.ts";
import { parseOr } from "../../ui/conversation/fields.ts";

type Conditions = Record<string, unknown>;
type ThreadFilter = {
  ids?: string[];
  metadata?: Conditions;
  without_metadata?: string[];
  values?: Conditions;
};

const TOKENS = /(?:[^\s"]|"[^"]*"?)+/g;
const WITHOUT = /^-[^\s-]/;
const STATE = "values.";

/**
 * Reads a filter as it is typed: `key=value` for metadata, `-key` for none of this name, `values.key=value` for the
 * state, or ids of threads.
 * @returns the conditions that could be read, and the first word that could not
 */
export function parseFilter(text: string): { filter: ThreadFilter; unparsed: string | null } {
  const filter: ThreadFilter = {};
  const unparsed = (text.match(TOKENS) ?? []).filter((token) => !addToken(filter, token));
  return { filter, unparsed: unparsed[0] ?? null };
}

/**
 * Returns the filter with numbers, booleans and nulls as texts: metadata of `"1042"` is not that of `1042`.
 * @returns `null` without any
 */
export function withTexts(text: string): string | null {
  const quoted = text.replace(TOKENS, (token) => {
    const at = token.indexOf("=") + 1;
    const value = token.slice(at);
    const parsed = parseOr(value);
    const isText =
      at < 2 || typeof parsed === "string" || (parsed !== null && typeof parsed === "object");
    return isText ? token : `${token.slice(0, at)}"${value}"`;
  });
  return quoted === text ? null : quoted;
}

function addToken(filter: ThreadFilter, token: string): boolean {
  const at = token.indexOf("=");
  if (isId(token)) filter.ids = [...(filter.ids ?? []), token.toLowerCase()];
  else if (at > 0) addCondition(filter, token.slice(0, at), parseOr(token.slice(at + 1)));
  else if (WITHOUT.test(token)) {
    filter.without_metadata = [...(filter.without_metadata ?? []), token.slice(1)];
  } else return false;
  return true;
}

function addCondition(filter: ThreadFilter, name: string, value: unknown): void {
  if (name.startsWith(STATE)) {
    filter.values = { ...filter.values, [name.slice(STATE.length)]: value };
  } else filter.metadata = { ...filter.metadata, [name]: value };
}
