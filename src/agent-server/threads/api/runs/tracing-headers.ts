import { isRecord } from "../../../../shared/guards.ts";
import { isShallow } from "../../../../shared/http/depth.ts";

/** Parsers of the baggage that LangSmith's SDKs send with a trace, by key. `undefined`: the value is invalid. */
const BAGGAGE: Record<string, (text: string) => unknown> = {
  "langsmith-metadata": metadataOf,
  "langsmith-tags": (text) => text.split(","),
  "langsmith-project": (text) => text,
};

/**
 * Returns the metadata, the tags and the project of the baggage: LangGraph's server adds them to `configurable` too.
 * `configurable` also has the headers `langsmith-trace` and `baggage`, with which graphs continue the trace by the
 * SDK's `RunTree.fromHeaders`.
 * @returns no fields for a request without `langsmith-trace`
 */
export function tracingFields(headers: Record<string, string>): Record<string, unknown> {
  if (headers["langsmith-trace"] === undefined) return {};
  const fields = (headers.baggage ?? "").split(",").flatMap((item) => {
    const at = item.indexOf("=");
    const name = item.slice(0, at).trim();
    const read = at > 0 && Object.hasOwn(BAGGAGE, name) ? BAGGAGE[name] : undefined;
    const value = read?.(decoded(item.slice(at + 1)));
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(fields);
}

function metadataOf(text: string): unknown {
  try {
    const metadata: unknown = JSON.parse(text);
    return isRecord(metadata) && isShallow(metadata) ? metadata : undefined;
  } catch {
    return undefined;
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.trim());
  } catch {
    return text;
  }
}
