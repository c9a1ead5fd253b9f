import { invalid } from "../../shared/errors.ts";
import { checkFilter } from "./check.ts";
import { parseSyntax } from "./syntax.ts";
import { FilterProblem } from "./tokens.ts";
import type { Filter } from "./tree.ts";

/** Maximum length of a filter, checked before it is parsed. */
const MAX_FILTER_CHARS = 65_536;
/** Maximum number of values in a filter, and in all filters of a query. Limits the time to test a run. */
export const MAX_FILTER_VALUES = 90;

export type ReadFilter = { ok: true; filter: Filter } | { ok: false; message: string };

/** @throws AppError 422 that names the body's field `name` */
export function parseFilter(text: string, name = "filter"): Filter {
  const read = readFilter(text);
  if (read.ok) return read.filter;
  throw invalid(["body", name], read.message);
}

/** Returns the filter, or the problem with its position. */
export function readFilter(text: string): ReadFilter {
  try {
    return { ok: true, filter: toFilter(text) };
  } catch (error) {
    if (error instanceof FilterProblem) return { ok: false, message: error.message };
    throw error;
  }
}

function toFilter(text: string): Filter {
  if (text.length > MAX_FILTER_CHARS) {
    throw new FilterProblem(
      MAX_FILTER_CHARS,
      `the filter must have at most ${MAX_FILTER_CHARS} characters; it has ${text.length}`,
    );
  }
  const filter = checkFilter(parseSyntax(text));
  const values = countValues(filter);
  if (values <= MAX_FILTER_VALUES) return filter;
  throw new FilterProblem(
    0,
    `the filter compares with ${values} values; the limit is ${MAX_FILTER_VALUES}, and in(field, [...]) counts as one`,
  );
}

/** Counts the values that a run is compared with. A list is one value. Tests of the project and for null have none. */
export function countValues(filter: Filter): number {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.filters.reduce((sum, inner) => sum + countValues(inner), 0);
    case "not":
      return countValues(filter.filter);
    case "contains":
      return filter.leaves.length;
    case "words":
      return filter.words.length;
    case "project":
      return 0;
    case "key":
    case "cursor":
      return 1;
    default:
      return filter.condition.op === "null" || filter.condition.op === "set" ? 0 : 1;
  }
}
