import fc from "fast-check";
import type { Document, Operation, Parameter } from "./document.ts";
import type { Pool } from "./pool.ts";
import { nasty, odd, valuesOf } from "./values.ts";

export type FuzzRequest = {
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
};

const MALFORMED = ["", "{", "[]", "null", '"x"', "7", `{"a":${"[".repeat(5000)}`, "\u0000"];

/** One request of an operation: three of five as the document asks, the others broken somewhere. */
export function requestOf(
  document: Document,
  operation: Operation,
  pool: Pool,
  seed: number,
): FuzzRequest {
  const [request] = fc.sample(requests(document, operation, pool), { seed, numRuns: 1 });
  if (request === undefined) throw new Error("fast-check gave no request");
  return request;
}

function requests(document: Document, operation: Operation, pool: Pool): fc.Arbitrary<FuzzRequest> {
  const parts = {
    path: parameters(document, operation, "path", pool).filter(isPath),
    query: parameters(document, operation, "query", pool),
    header: parameters(document, operation, "header", pool),
    body: bodies(document, operation, pool),
    type: fc.oneof(
      { weight: 19, arbitrary: fc.constant(operation.raw_type ?? "application/json") },
      { weight: 1, arbitrary: fc.constantFrom("text/plain", "multipart/form-data", "") },
    ),
  };
  return fc.record(parts).map(({ path, query, header, body, type }) => ({
    path: fill(operation.path, path) + toQuery(query),
    headers: {
      ...printable(header),
      ...(body === undefined || type === "" ? {} : { "content-type": type }),
    },
    body,
  }));
}

type Given = Record<string, string>;

/** Empty segments and dots would make it the path of another operation. */
function isPath(given: Given): boolean {
  return Object.values(given).every((value) => !["", ".", ".."].includes(value));
}

function parameters(
  document: Document,
  { parameters, method }: Operation,
  place: string,
  pool: Pool,
): fc.Arbitrary<Given> {
  const all = parameters.filter((parameter) => parameter.in === place);
  const fields = all.map((parameter) => [
    parameter.name,
    values(document, parameter, method, pool),
  ]);
  const requiredKeys = all.filter(({ required }) => required).map(({ name }) => name);
  return fc.record(Object.fromEntries(fields), { requiredKeys }) as fc.Arbitrary<Given>;
}

function values(document: Document, { name, schema }: Parameter, method: string, pool: Pool) {
  const fitting = valuesOf(document, schema).map(toText);
  const known = pool.ids(name, method);
  const broken = { weight: 1, arbitrary: nasty };
  if (known.length === 0) return fc.oneof({ weight: 6, arbitrary: fitting }, broken);
  const ours = { weight: 6, arbitrary: fc.constantFrom(...known) };
  return fc.oneof(ours, { weight: 2, arbitrary: fitting }, broken);
}

function bodies(
  document: Document,
  { body, raw_type, method }: Operation,
  pool: Pool,
): fc.Arbitrary<string | undefined> {
  if (raw_type !== undefined) return nasty;
  if (body === undefined) return fc.constant(undefined);
  const fitting = valuesOf(document, body).map((value) => withIds(value, pool, method));
  const broken = fc
    .tuple(fitting, fc.nat(), odd)
    .map(([value, at, wrong]) => damage(value, at, wrong));
  return fc.oneof(
    { weight: 6, arbitrary: fitting.map(toJson) },
    { weight: 3, arbitrary: broken.map(toJson) },
    { weight: 1, arbitrary: fc.constantFrom(...MALFORMED) },
  );
}

/** Ids of a body name what is there, most of the time: the schema alone would give ids of nothing. */
function withIds(value: unknown, pool: Pool, method: string): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, pool.ids(name, method)[0] ?? inner]),
  );
}

function damage(value: unknown, at: number, wrong: unknown): unknown {
  if (typeof value !== "object" || value === null) return wrong;
  const names = Object.keys(value);
  const name = names[at % Math.max(names.length, 1)];
  return name === undefined ? wrong : { ...value, [name]: wrong };
}

function fill(path: string, given: Given): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent((given[name] ?? "").toWellFormed()),
  );
}

function toQuery(given: Given): string {
  const text = new URLSearchParams(given).toString();
  return text === "" ? "" : `?${text}`;
}

/** What a header may hold at all. */
function printable(given: Given): Given {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, value.replace(/[^\x21-\x7e]/g, "")]),
  );
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function toJson(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}
