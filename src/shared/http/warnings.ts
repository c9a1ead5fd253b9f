import { z } from "@hono/zod-openapi";

const NAME = "X-Heddle-Warning";

/** Returns the header of a warning. Replaces characters outside of ASCII, which quoted names may have. */
export function warningHeader(warning: string | null): Record<string, string> {
  if (warning === null) return {};
  return { [NAME]: warning.replace(/[^\x20-\x7e]/g, "?") };
}

/** Describes the header in a response of the OpenAPI document. */
export function warningHeaders(description: string) {
  return { headers: z.object({ [NAME]: z.string().optional().describe(description) }) };
}
