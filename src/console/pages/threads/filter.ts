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
 * Parses a filter: `key=value` for metadata, `-key` for threads without this key of metadata, `values.key=value` for the
 * state, and ids of threads.
 * @returns the parsed conditions, and the first word that is not a condition
 */
export function parseFilter(text: string): { filter: ThreadFilter; unparsed: string | null } {
  const filter: ThreadFilter = {};
  const unparsed = (text.match(TOKENS) ?? []).filter((token) => !addToken(filter, token));
  return { filter, unparsed: unparsed[0] ?? null };
}

/**
 * Quotes the numbers, booleans and nulls of a filter: metadata with the text `"1042"` does not match the number `1042`.
 * @returns `null` when the filter has none
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
