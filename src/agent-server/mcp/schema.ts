import { z } from "@hono/zod-openapi";

/** Versions of MCP that have the transport Streamable HTTP, oldest first. */
const VERSIONS = ["2025-03-26", "2025-06-18", "2025-11-25"] as const;
const NEWEST = "2025-11-25";

export const McpHeaders = z.object({
  accept: z.string().default("").describe("Must accept `application/json` and `text/event-stream`"),
  "mcp-protocol-version": z.string().optional().describe("Version of the protocol"),
});
type McpHeaders = z.infer<typeof McpHeaders>;

export const InitializeParams = z.looseObject({ protocolVersion: z.string() });

/** Returns the client's version when supported, else the newest one. */
export function chooseVersion(requested: string): string {
  return VERSIONS.find((version) => version === requested) ?? NEWEST;
}

/** Maximum tools of a page of `tools/list`. */
export const TOOLS_PAGE = 50;

export const ListToolsParams = z.looseObject({
  cursor: z
    .string()
    .regex(/^\d{1,6}$/, "must be nextCursor of tools/list")
    .optional(),
});

export const CallToolParams = z.looseObject({
  name: z.string(),
  arguments: z.record(z.string(), z.unknown()).optional(),
});

/** @returns `null` when the headers are valid */
export function refusalOf(headers: McpHeaders): { status: 400 | 406; text: string } | null {
  if (!acceptsBoth(headers.accept)) {
    const text = "Not Acceptable: Accept must include application/json and text/event-stream";
    return { status: 406, text };
  }
  const version = headers["mcp-protocol-version"];
  if (version === undefined || VERSIONS.some((known) => known === version)) return null;
  const text = `MCP-Protocol-Version ${version} is not supported: use one of ${VERSIONS.join(", ")}`;
  return { status: 400, text };
}

function acceptsBoth(accept: string): boolean {
  const types = accept.split(",").map((part) => part.split(";")[0]?.trim().toLowerCase());
  const accepts = (type: string, group: string) =>
    types.some((one) => one === type || one === group || one === "*/*");
  return accepts("application/json", "application/*") && accepts("text/event-stream", "text/*");
}
