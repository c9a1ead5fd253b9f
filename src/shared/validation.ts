import { z } from "zod";
import type { Issue } from "./errors.ts";

/** Texts and codes of validation errors. The codes are those of pydantic: published clients know them. */

type RawIssue = z.core.$ZodRawIssue;
type ZodIssue = z.core.$ZodIssue;

const REQUIRED = "is required";

const TYPES: Record<string, { name: string; code: string }> = {
  string: { name: "a string", code: "string_type" },
  number: { name: "a number", code: "float_type" },
  int: { name: "an integer", code: "int_type" },
  boolean: { name: "true or false", code: "bool_type" },
  array: { name: "a list", code: "list_type" },
  object: { name: "an object", code: "dict_type" },
  record: { name: "an object", code: "dict_type" },
  null: { name: "null", code: "none_required" },
};

const FORMATS: Record<string, { name: string; code: string }> = {
  uuid: { name: "a UUID", code: "uuid_parsing" },
  url: { name: "a URL", code: "url_parsing" },
  datetime: { name: "an ISO 8601 time with a zone", code: "datetime_parsing" },
  email: { name: "an email address", code: "value_error" },
  regex: { name: "a value of the documented pattern", code: "string_pattern_mismatch" },
};

const UNITS: Record<string, string> = { string: "character", array: "item" };

/** Schemas without a text for a rule get these texts. */
z.config({ customError: textOf });

/** Returns the invalid fields of a request. `loc` is where the value was sent. */
export function toIssues({ issues }: z.core.$ZodError, loc: Issue["loc"]): Issue[] {
  return issues.map((issue) => ({
    loc: [...loc, ...issue.path.map((key) => (typeof key === "number" ? key : String(key)))],
    msg: issue.message,
    type: issue.message.startsWith(REQUIRED) ? "missing" : codeOf(issue),
  }));
}

export function joinIssues(issues: readonly Issue[]): string {
  return issues.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ");
}

function textOf(issue: RawIssue): string | undefined {
  if (issue.code === "invalid_value") return textOfValues(issue);
  if (issue.input === undefined && issue.code !== "custom") return REQUIRED;
  switch (issue.code) {
    case "invalid_type":
      return `must be ${TYPES[issue.expected]?.name ?? `a ${issue.expected}`}`;
    case "too_small":
      return textOfBound(
        issue,
        issue.minimum,
        issue.inclusive === false ? "more than" : "at least",
      );
    case "too_big":
      return textOfBound(issue, issue.maximum, issue.inclusive === false ? "less than" : "at most");
    case "invalid_format":
      return `must be ${FORMATS[issue.format]?.name ?? `a valid ${issue.format}`}`;
    case "invalid_union":
      return textOfUnion(issue.errors);
    case "unrecognized_keys":
      return `must not have the unknown fields ${issue.keys.join(", ")}`;
    case "invalid_key":
      return "must not have this key";
    default:
      return "is invalid";
  }
}

function textOfValues({ values = [], input }: Extract<RawIssue, { code: "invalid_value" }>) {
  const names = values.map(String).join(", ");
  const allowed = values.length === 1 ? names : `one of ${names}`;
  return input === undefined ? `${REQUIRED}: ${allowed}` : `must be ${allowed}`;
}

function textOfBound({ origin }: { origin: string }, bound: number | bigint, relation: string) {
  const unit = UNITS[origin];
  if (unit === undefined) return `must be ${relation} ${bound}`;
  return `must have ${relation} ${bound} ${unit}${bound === 1 ? "" : "s"}`;
}

/** Describes all options, or the one whose type the value has. */
function textOfUnion(options: readonly (readonly ZodIssue[])[] = []): string {
  const [inner, ...others] = options.filter((issues) =>
    issues.every(({ path }) => path.length > 0),
  );
  const [first] = inner ?? [];
  if (first && others.length === 0) return `${first.path.join(".")}: ${first.message}`;
  const texts = options.flatMap((issues) => issues.slice(0, 1).map(({ message }) => message));
  const distinct = [...new Set(texts)].map((text) => text.replace(/^must be /, ""));
  return distinct.length === 0 ? "is invalid" : `must be ${distinct.join(", or ")}`;
}

function codeOf(issue: ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return TYPES[issue.expected]?.code ?? "value_error";
    case "invalid_value":
      return issue.values.length === 1 ? "literal_error" : "enum";
    case "invalid_format":
      return FORMATS[issue.format]?.code ?? "value_error";
    case "unrecognized_keys":
      return "extra_forbidden";
    case "too_small":
      return boundCode(issue.origin, "too_short", "greater_than_equal");
    case "too_big":
      return boundCode(issue.origin, "too_long", "less_than_equal");
    default:
      return "value_error";
  }
}

function boundCode(origin: string, length: string, value: string): string {
  if (origin === "string") return `string_${length}`;
  return origin === "array" ? length : value;
}
