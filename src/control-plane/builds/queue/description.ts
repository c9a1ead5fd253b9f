import { Buffer } from "node:buffer";
import { z } from "zod";
import { plainData } from "../../../shared/plain.ts";
import { DESCRIPTION_BYTES } from "../limits.ts";
import { bytesText } from "../text.ts";

const GRAPHS = z.array(z.looseObject({ graph_id: z.string() }));
const FAILURE = z.object({ error: z.string(), message: z.string(), stack: z.string().nullable() });
const ANSWER = z.discriminatedUnion("ok", [
  z.object({ ok: z.literal(true), value: GRAPHS }),
  z.object({ ok: z.literal(false), error: FAILURE }),
]);

/** Refuses values that are huge as JSON: structured clone keeps shared references, so 1 KB may become 1 GB of JSON. */
const Plain = plainData();

/** The result of an agent's load check, within limits. */
export type BuildDescription = z.infer<typeof ANSWER>;

/**
 * Validates the result of `describe()`, which an agent's code can replace. A bad value fails the build. Without this
 * check, the write to D1 would fail in each attempt, as if the platform had failed.
 */
export function checkDescription(answer: unknown): BuildDescription {
  const parsed = ANSWER.safeParse(answer);
  if (!parsed.success)
    return failedDescription("describe() of the agent returned no list of graphs.");
  if (!parsed.data.ok) return parsed.data;
  const { error } = Plain.safeParse(parsed.data.value);
  if (error) return failedDescription(`describe() of the agent ${error.issues[0]?.message}.`);
  const json = toJson(parsed.data.value);
  if (json === null)
    return failedDescription("describe() of the agent returned graphs that are not JSON.");
  const bytes = Buffer.byteLength(json);
  if (bytes <= DESCRIPTION_BYTES) return { ok: true, value: GRAPHS.parse(JSON.parse(json)) };
  const sizes = `${bytesText(bytes)} as JSON; ${bytesText(DESCRIPTION_BYTES)} are allowed`;
  const remedy = "Make the types of state and context smaller, or deploy fewer graphs together";
  return failedDescription(`The nodes and schemas of the graphs have ${sizes}. ${remedy}.`);
}

/** Returns the result for an agent that could not be described: its build fails with `message`. */
export function failedDescription(message: string): BuildDescription {
  return { ok: false, error: { error: "Error", message, stack: null } };
}

/** @returns `null` for a value that `JSON.stringify` refuses: with a cycle or a bigint */
function toJson(value: unknown): string | null {
  try {
    return JSON.stringify(value);
  } catch {
    return null;
  }
}
