import { z } from "@hono/zod-openapi";
import { namedObject, textField } from "../schema.ts";

// JSON-RPC 2.0, which MCP and A2A use.

const RpcId = z.union([z.string(), z.number()]);
export type RpcId = z.infer<typeof RpcId>;

/** A request, a notification (no id), or a response (no method). */
export const RpcMessage = z
  .looseObject({
    jsonrpc: z.literal("2.0").describe("Version of JSON-RPC"),
    id: RpcId.nullish().describe("Id that the response repeats. Notifications have none"),
    method: z.string().optional().describe("Name of the method"),
    params: z.record(z.string(), z.unknown()).optional().describe("Parameters of the method"),
  })
  .openapi("RpcMessage");
export type RpcMessage = z.infer<typeof RpcMessage>;

export type RpcRequest = { id: RpcId; method: string; params: Record<string, unknown> };

export const RpcAnswer = namedObject("RpcAnswer", {
  jsonrpc: z.literal("2.0").describe("Version of JSON-RPC"),
  id: RpcId.nullable().describe("Id of the request"),
  result: z.unknown().optional().describe("Result of the method. Absent when it failed"),
  error: z
    .object({
      code: z.number().int().describe("JSON-RPC error code"),
      message: textField("What is wrong and how to correct it", "params.name: must be a string"),
      data: z.unknown().optional().describe("Details of the error"),
    })
    .optional()
    .describe("Error of the method. Absent when it succeeded"),
});
export type RpcAnswer = z.infer<typeof RpcAnswer>;

export const RPC_ERRORS = {
  invalid_request: -32600,
  method_not_found: -32601,
  invalid_params: -32602,
  refused: -32000,
} as const;

/** An error of the method. Its HTTP status is 200. */
export class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = "RpcError";
    this.code = code;
  }
}

/** @returns `null` for notifications and responses */
export function toRequest({ id, method, params }: RpcMessage): RpcRequest | null {
  if (id === null || id === undefined || method === undefined) return null;
  return { id, method, params: params ?? {} };
}

export function rpcResult(id: RpcId, result: unknown): RpcAnswer {
  return { jsonrpc: "2.0", id, result };
}

export function rpcError(id: RpcId | null, code: number, message: string): RpcAnswer {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

/** Returns the result of `work`, or the RpcError that it throws as a response. */
export async function answerRpc<T>(
  { id }: RpcRequest,
  work: () => Promise<T>,
): Promise<T | RpcAnswer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RpcError) return rpcError(id, error.code, error.message);
    throw error;
  }
}

/** Parses the parameters of a method. @throws RpcError `invalid_params` */
export function rpcParams<T extends z.ZodType>(schema: T, params: unknown): z.infer<T> {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  const text = parsed.error.issues
    .map(({ path, message }) => `${["params", ...path].join(".")}: ${message}`)
    .join("; ");
  throw new RpcError(RPC_ERRORS.invalid_params, text);
}
