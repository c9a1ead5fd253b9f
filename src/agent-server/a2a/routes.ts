import { z } from "@hono/zod-openapi";
import { router } from "../../shared/http/http.ts";
import { RpcAnswer, RpcMessage } from "../../shared/http/json-rpc.ts";
import { sseResponse } from "../../shared/http/sse.ts";
import { body, json, operationWithTag } from "../../shared/schema.ts";
import { agentServerUrl } from "../access/agent-urls.ts";
import { toTarget, valuesResponse } from "../threads/api/run-http.ts";
import { AgentPath } from "../threads/contract/requests/schema.ts";
import { A2aPath, AgentCard, CardQuery, VERSION_HEADER } from "./schema.ts";
import { answerA2a, getCard } from "./service.ts";

const AGENT = "/agents/{deployment_id}";
const A2A = `${AGENT}/a2a/{assistant_id}` as const;
const CARD = "/.well-known/agent-card.json";
const operation = operationWithTag("A2A");

export const a2aRoutes = router();

a2aRoutes.openapi(
  operation("post", A2A, "callA2a", {
    summary: "Call A2A",
    description:
      "The Agent2Agent protocol, versions 0.3 and 1.0: sends messages to an assistant, and reads and cancels tasks.",
    request: { params: A2aPath, body: body(RpcMessage) },
    responses: {
      200: {
        content: {
          "application/json": { schema: RpcAnswer },
          "text/event-stream": {
            schema: z.string(),
            example: 'data: {"jsonrpc":"2.0","id":1,"result":{"kind":"status-update"}}\n\n',
          },
        },
        description:
          "The response, after newlines that keep the connection alive, or server-sent events",
      },
      202: { description: "The notification was accepted" },
    },
  }),
  async (c) => {
    const { assistant_id, ...path } = c.req.valid("param");
    const target = { ...toTarget(path, c.req.raw), assistant_id };
    const version = c.req.header(VERSION_HEADER) ?? "";
    const answer = await answerA2a(c.var.ctx, target, c.req.valid("json"), version);
    if (!answer) return c.body(null, 202);
    if ("events" in answer) return sseResponse(answer.events, {});
    return "text" in answer ? valuesResponse(answer.text) : c.json(answer, 200);
  },
);

a2aRoutes.openapi(
  operation("get", `${AGENT}${CARD}`, "getAgentCard", {
    summary: "Get an agent card",
    description: "The A2A description of an assistant. With `A2A-Version: 1.0`, a card of 1.0.",
    request: { params: AgentPath, query: CardQuery },
    responses: { 200: json(AgentCard, "The agent card") },
  }),
  async (c) => {
    const ref = { ...c.req.valid("param"), ...c.req.valid("query") };
    const server_url = agentServerUrl(c.req.raw, c.env, ref.deployment_id);
    const version = c.req.header(VERSION_HEADER) ?? "";
    const card = await getCard(c.var.ctx, ref, server_url, version);
    c.header("Vary", VERSION_HEADER, { append: true });
    return c.json(AgentCard.parse(card), 200);
  },
);

a2aRoutes.openapi(
  operation("get", `${A2A}${CARD}`, "getAgentCardOfAssistant", {
    summary: "Get an assistant's agent card",
    description: "The card of the Agent2Agent protocol, with the URL of the assistant.",
    request: { params: A2aPath },
    responses: { 200: json(AgentCard, "The agent card") },
  }),
  async (c) => {
    const ref = c.req.valid("param");
    const server_url = agentServerUrl(c.req.raw, c.env, ref.deployment_id);
    const version = c.req.header(VERSION_HEADER) ?? "";
    const card = await getCard(c.var.ctx, ref, server_url, version);
    c.header("Vary", VERSION_HEADER, { append: true });
    return c.json(AgentCard.parse(card), 200);
  },
);
