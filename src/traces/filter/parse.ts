import { invalid } from "../../shared/errors.ts";
import { checkFilter } from "./check.ts";
import { compileFilter } from "./compile.ts";
import { parseSyntax } from "./syntax.ts";
import { FilterProblem } from "./tokens.ts";
import type { Filter } from "./tree.ts";

/** A filter is read in full before anything is asked: what is longer or deeper than this is refused. */
const MAX_FILTER_CHARS = 65_536;
/** A statement binds 100 values at most; the query around the filter has some of its own. */
const MAX_FILTER_VALUES = 90;

export type ReadFilter = { ok: true; filter: Filter } | { ok: false; message: string };

/** `name` is the field of the body that holds the filter, for the error. */
export function parseFilter(text: string, name = "filter"): Filter {
  const read = readFilter(text);
  if (read.ok) return read.filter;
  throw invalid(["body", name], read.message);
}

/** The filter, or what is wrong with it and where. */
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
      `the filter is longer than the ${MAX_FILTER_CHARS} characters allowed; it has ${text.length}`,
    );
  }
  const filter = checkFilter(parseSyntax(text));
  const { params } = compileFilter(filter, { session_id: "" });
  if (params.length <= MAX_FILTER_VALUES) return filter;
  throw new FilterProblem(
    0,
    `the filter compares with ${params.length} values and ${MAX_FILTER_VALUES} are allowed; in(field, [...]) counts as one`,
  );
}
