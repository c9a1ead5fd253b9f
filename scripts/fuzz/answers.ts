import { z } from "zod";
import type { Document, Operation, Schema } from "./document.ts";

export type Answer = { status: number; type: string; text: string };

/**
 * Returns a function that compares an answer with the document. The function returns the problem, or `null` for a valid
 * answer.
 */
export function checker(document: Document) {
  const parsers = new Map<Schema, z.ZodType>();
  const parserOf = (schema: Schema) => {
    const parser = parsers.get(schema) ?? z.fromJSONSchema(standAlone(document, schema));
    parsers.set(schema, parser);
    return parser;
  };
  return (operation: Operation, answer: Answer) => whatIsWrong(operation, answer, parserOf);
}

function whatIsWrong(
  { responses }: Operation,
  answer: Answer,
  parserOf: (schema: Schema) => z.ZodType,
): string | null {
  const { status, type, text } = answer;
  if (status >= 500 && status !== 503) return `status ${status}`;
  const response = responses[String(status)];
  if (response === undefined) return `undocumented status ${status}`;
  if (response.content === undefined) return text === "" ? null : "an undocumented body";
  const media = response.content[type];
  if (media === undefined) return `undocumented Content-Type ${type} of a ${status}`;
  return type.endsWith("json") && media.schema ? breach(parserOf(media.schema), answer) : null;
}

/** Returns how a body breaks its schema, or `null`. The schema of a body in lines of JSON describes one line. */
function breach(parser: z.ZodType, { status, type, text }: Answer): string | null {
  const values = type.endsWith("x-ndjson") ? text.trimEnd().split("\n") : [text];
  for (const value of values) {
    const { error } = parser.safeParse(readJson(value));
    if (error) return `a ${status} that breaks its schema: ${textOf(error)}`;
  }
  return null;
}

/** Adds the schemas that references name as `$defs`, as JSON Schema has them. */
function standAlone({ components }: Document, schema: Schema) {
  const text = JSON.stringify({ ...schema, $defs: components.schemas });
  return JSON.parse(text.replaceAll("#/components/schemas/", "#/$defs/"));
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function textOf({ issues }: z.ZodError): string {
  return issues
    .map(({ path, message }) => `${path.join(".")}: ${message}`)
    .join("; ")
    .slice(0, 300);
}
