import fc from "fast-check";
import { breakings, type Parts } from "./breakings.ts";
import type { Document, Operation, Parameter } from "./document.ts";
import { isIdName, MAX_IDS } from "./pool.ts";
import { reference } from "./references.ts";
import { sparse, valuesOf } from "./values.ts";

export type FuzzRequest = {
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
};

const FORM = "application/x-www-form-urlencoded";

/**
 * Decides a request of an operation by the seed alone: two of three are valid, the others broken in one place. Ids of
 * the pool are references.
 */
export function partsOf(document: Document, operation: Operation, seed: number): Parts {
  const right = validParts(document, operation);
  const requests = fc.oneof(
    { weight: 2, arbitrary: right },
    { weight: 1, arbitrary: breakings(operation, right) },
  );
  const [given] = fc.sample(requests, { seed, numRuns: 1 });
  if (given === undefined) throw new Error("fast-check gave no request");
  return given;
}

function validParts(document: Document, operation: Operation): fc.Arbitrary<Parts> {
  const at = (place: string) => parameters(document, operation, place);
  return fc.record({
    path: at("path"),
    query: at("query"),
    header: at("header"),
    body: bodies(document, operation),
    type: fc.constant(operation.raw_type ?? "application/json"),
    text: fc.constant(undefined),
  });
}

function parameters(document: Document, operation: Operation, place: string) {
  const all = operation.parameters.filter((parameter) => parameter.in === place);
  const fields = all.map((parameter) => [parameter.name, values(document, parameter)]);
  const required = all.filter(({ required }) => required).map(({ name }) => name);
  return sparse(Object.fromEntries(fields), required) as fc.Arbitrary<Record<string, string>>;
}

/** Generates values of a parameter. Most ids refer to the pool, often to its first entry, which is never deleted. */
function values(document: Document, { name, schema }: Parameter): fc.Arbitrary<string> {
  const fitting = valuesOf(document, schema).map(toText);
  if (!isIdName(name)) return fitting;
  const places = fc.oneof(
    { weight: 6, arbitrary: fc.constant(0) },
    { weight: 3, arbitrary: fc.nat(MAX_IDS - 1) },
    { weight: 1, arbitrary: fc.constant(null) },
  );
  return fc
    .tuple(fitting, places)
    .map(([value, at]) => (at === null ? value : reference(name, at, value)));
}

function bodies(document: Document, operation: Operation): fc.Arbitrary<unknown> {
  if (operation.body === undefined) return fc.constant(undefined);
  // A quarter keeps the generated ids: clients choose some ids themselves.
  return fc
    .tuple(valuesOf(document, operation.body), fc.nat(3))
    .map(([value, fourth]) => (fourth === 0 ? value : withReferences(value)));
}

/** Replaces ids by references to the pool: the schema alone would generate unknown ids. */
function withReferences(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const referred = ([name, inner]: [string, unknown]) => {
    const isId = isIdName(name) && inner !== null;
    return [name, isId ? reference(name, 0, inner) : inner];
  };
  return Object.fromEntries(Object.entries(value).map(referred));
}

export function encode(operation: Operation, given: Parts): FuzzRequest {
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

/** Removes characters that a header cannot hold, and spaces. */
function printable(given: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, value.replace(/[^\x21-\x7e]/g, "")]),
  );
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
