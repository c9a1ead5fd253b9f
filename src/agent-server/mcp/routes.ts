import { z } from "@hono/zod-openapi";
import { router } from "../../shared/http/http.ts";
import { RPC_ERRORS, RpcAnswer, RpcMessage, rpcError } from "../../shared/http/json-rpc.ts";
import { body, json, operationWithTag } from "../../shared/schema.ts";
import { toTarget, valuesResponse } from "../threads/api/run-http.ts";
import { AgentPath } from "../threads/contract/requests/schema.ts";
import { McpHeaders, refusalOf } from "./schema.ts";
import { answerMcp } from "./service.ts";

const PATH = "/agents/{deployment_id}/mcp";

export const mcpRoutes = router();

const operation = operationWithTag("MCP");

mcpRoutes.openapi(
  operation("post", PATH, "callMcp", {
    summary: "Call MCP",
    description: "The Model Context Protocol over stateless HTTP. Each assistant is a tool.",
    request: { params: AgentPath, headers: McpHeaders, body: body(RpcMessage) },
    responses: {
      200: json(RpcAnswer, "The response. Newlines before it keep the connection alive"),
      202: { description: "The notification was accepted" },
      400: {
        content: {
          "application/json": { schema: RpcAnswer },
          "text/plain": { schema: z.string() },
        },
        description: "Malformed JSON, or an unsupported version of the protocol",
      },
      406: json(RpcAnswer, "`Accept` must include `application/json` and `text/event-stream`"),
    },
  }),
  async (c) => {
    const refusal = refusalOf(c.req.valid("header"));
    if (refusal) {
      return c.json(rpcError(null, RPC_ERRORS.refused, refusal.text), refusal.status);
    }
    const target = toTarget(c.req.valid("param"), c.req.raw);
    const answer = await answerMcp(c.var.ctx, target, c.req.valid("json"));
    if (!answer) return c.body(null, 202);
    if (answer instanceof ReadableStream) return valuesResponse(answer);
    return c.json(answer, 200);
  },
);

/** The server has no sessions: GET cannot stream from one, and DELETE cannot end one. */
mcpRoutes.get("/agents/:deployment_id/mcp", (c) =>
  c.text("Method Not Allowed: POST messages here", 405, { Allow: "POST" }),
);
mcpRoutes.delete("/agents/:deployment_id/mcp", (c) => c.text("404 Not Found", 404));
