import fc from "fast-check";
import { breakings, type Parts } from "./breakings.ts";
import type { Document, Operation, Parameter } from "./document.ts";
import type { Pool } from "./pool.ts";
import { sparse, valuesOf } from "./values.ts";

export type FuzzRequest = {
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
};

const FORM = "application/x-www-form-urlencoded";

/** Builds a request of an operation: two of three valid, the others broken in one place. */
export function requestOf(
  document: Document,
  operation: Operation,
  pool: Pool,
  seed: number,
): FuzzRequest {
  const right = parts(document, operation, pool);
  const requests = fc.oneof(
    { weight: 2, arbitrary: right },
    { weight: 1, arbitrary: breakings(operation, right) },
  );
  const [given] = fc.sample(requests, { seed, numRuns: 1 });
  if (given === undefined) throw new Error("fast-check gave no request");
  return encode(operation, given);
}

function parts(document: Document, operation: Operation, pool: Pool): fc.Arbitrary<Parts> {
  const at = (place: string) => parameters(document, operation, place, pool);
  return fc.record({
    path: at("path"),
    query: at("query"),
    header: at("header"),
    body: bodies(document, operation, pool),
    type: fc.constant(operation.raw_type ?? "application/json"),
    text: fc.constant(undefined),
  });
}

function parameters(document: Document, operation: Operation, place: string, pool: Pool) {
  const all = operation.parameters.filter((parameter) => parameter.in === place);
  const fields = all.map((parameter) => [
    parameter.name,
    values(document, parameter, operation, pool),
  ]);
  const required = all.filter(({ required }) => required).map(({ name }) => name);
  return sparse(Object.fromEntries(fields), required) as fc.Arbitrary<Record<string, string>>;
}

/** Prefers ids that exist, and resources that last. */
function values(
  document: Document,
  { name, schema }: Parameter,
  operation: Operation,
  pool: Pool,
): fc.Arbitrary<string> {
  const fitting = valuesOf(document, schema).map(toText);
  const [first, ...others] = pool.ids(name, operation);
  if (first === undefined) return fitting;
  return fc.oneof(
    { weight: 6, arbitrary: fc.constant(first) },
    { weight: 3, arbitrary: fc.constantFrom(first, ...others) },
    { weight: 1, arbitrary: fitting },
  );
}

function bodies(document: Document, operation: Operation, pool: Pool): fc.Arbitrary<unknown> {
  if (operation.body === undefined) return fc.constant(undefined);
  // A quarter keeps the schema's value: clients choose some ids.
  return fc
    .tuple(valuesOf(document, operation.body), fc.nat(3))
    .map(([value, fourth]) => (fourth === 0 ? value : withIds(value, operation, pool)));
}

/** Uses ids that exist: the schema alone would generate unknown ones. */
function withIds(value: unknown, operation: Operation, pool: Pool): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const known = ([name, inner]: [string, unknown]) => {
    const [id] = pool.ids(name, operation);
    if (id === undefined || inner === null) return [name, inner];
    return [name, Array.isArray(inner) ? [id] : id];
  };
  return Object.fromEntries(Object.entries(value).map(known));
}

function encode(operation: Operation, given: Parts): FuzzRequest {
  const body = given.text ?? toBody(given);
  return {
    path: fill(operation.path, given.path) + toQuery(given.query),
    headers: {
      ...printable(given.header),
      ...(body === undefined || given.type === "" ? {} : { "content-type": given.type }),
    },
    body,
  };
}

function toBody({ body, type }: Parts): string | undefined {
  if (body === undefined) return undefined;
  if (type !== FORM || typeof body !== "object") return JSON.stringify(body) ?? "null";
  const fields = Object.entries(body ?? {}).map(([name, value]) => [name, toText(value)]);
  return new URLSearchParams(Object.fromEntries(fields)).toString();
}

function fill(path: string, given: Record<string, string>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent((given[name] ?? "").toWellFormed()),
  );
}

function toQuery(given: Record<string, string>): string {
  const text = new URLSearchParams(given).toString();
  return text === "" ? "" : `?${text}`;
}

/** Characters that a header can hold. */
function printable(given: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, value.replace(/[^\x21-\x7e]/g, "")]),
  );
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
