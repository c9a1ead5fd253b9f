import fc from "fast-check";
import type { Operation } from "./document.ts";
import { nasty, odd } from "./values.ts";

/** A request before it is encoded. */
export type Parts = {
  path: Record<string, string>;
  query: Record<string, string>;
  header: Record<string, string>;
  body: unknown;
  type: string;
  /** Body that is sent unchanged. */
  text: string | undefined;
};

/** Damages a request. `at` is random, `text` a strange text, `wrong` a value of any type. */
type Break = (parts: Parts, at: number, text: string, wrong: unknown) => Parts;

const MALFORMED = ["", "{", "[]", "null", '"x"', "7", `{"a":${"[".repeat(5000)}`, "\u0000"];
const TYPES = ["text/plain", "multipart/form-data", "application/json", ""];

/** Generates the request with one part damaged. Few are unchanged: some texts cannot be a segment of a path. */
export function breakings(operation: Operation, right: fc.Arbitrary<Parts>): fc.Arbitrary<Parts> {
  const ways = waysOf(operation);
  return fc.tuple(right, fc.nat(), fc.nat(), nasty, odd).map(([parts, way, at, text, wrong]) => {
    const breaks = ways[way % ways.length];
    return breaks?.(parts, at, text, wrong) ?? parts;
  });
}

function waysOf({ parameters, body, raw_type }: Operation): Break[] {
  const named = (place: string) =>
    parameters.filter((parameter) => parameter.in === place).map(({ name }) => name);
  const takesBody = body !== undefined || raw_type !== undefined;
  return [
    ...named("path").map(
      (name): Break =>
        (parts, _at, text) =>
          isSegment(text) ? { ...parts, path: { ...parts.path, [name]: text } } : parts,
    ),
    ...named("query").map(
      (name): Break =>
        (parts, _at, text) => {
          return { ...parts, query: { ...parts.query, [name]: text } };
        },
    ),
    ...named("header").map(
      (name): Break =>
        (parts, _at, text) => {
          return { ...parts, header: { ...parts.header, [name]: text } };
        },
    ),
    ...(takesBody ? BODY : []),
    (parts, _at, text) => ({ ...parts, query: { ...parts.query, [text]: text } }),
  ];
}

const BODY: Break[] = [
  (parts, at, _text, wrong) => ({ ...parts, body: damage(parts.body, at, wrong) }),
  (parts, at, _text, wrong) => ({ ...parts, body: damage(parts.body, at, wrong) }),
  (parts, _at, text) => ({ ...parts, text }),
  (parts, at) => ({ ...parts, text: MALFORMED[at % MALFORMED.length] }),
  (parts, at) => ({ ...parts, type: TYPES[at % TYPES.length] ?? "" }),
];

/** Whether the text can be a segment: empty segments and dots would name another operation. */
function isSegment(text: string): boolean {
  return !["", ".", ".."].includes(text);
}

/** Returns a copy in which `wrong` replaces one field, or the whole value. `at` chooses the field, at any depth. */
function damage(value: unknown, at: number, wrong: unknown): unknown {
  if (typeof value !== "object" || value === null) return wrong;
  const names = Object.keys(value);
  const name = names[at % Math.max(names.length, 1)];
  if (name === undefined) return wrong;
  const inner = (value as Record<string, unknown>)[name];
  const next = Math.floor(at / names.length);
  const changed = next % 2 === 0 ? wrong : damage(inner, next, wrong);
  if (!Array.isArray(value)) return { ...value, [name]: changed };
  return value.map((item, index) => (String(index) === name ? changed : item));
}
