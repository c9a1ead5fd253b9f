import { router } from "../../../shared/http/http.ts";
import { body, ErrorDetail, json, operationWithTag } from "../../../shared/schema.ts";
import {
  AgentPath,
  Connection,
  ConnectionCreateRequest,
  ConnectionPath,
  ConnectionsList,
} from "../token-schema.ts";
import { createConnection, deleteConnection, listConnections } from "./connection-service.ts";

export const connectionRoutes = router();

const operation = operationWithTag("OAuth");

const list = operation("get", "/v2/auth/agents/{agent_id}/connections", "listAgentConnections", {
  summary: "List agent connections",
  description: "Tokens that the caller has connected to an agent.",
  request: { params: AgentPath },
  responses: { 200: json(ConnectionsList, "Connections, oldest first") },
});
connectionRoutes.openapi(list, async (c) =>
  c.json(await listConnections(c.var.ctx, c.req.valid("param").agent_id), 200),
);

const create = operation(
  "post",
  "/v2/auth/agents/{agent_id}/connections",
  "createAgentConnection",
  {
    summary: "Create an agent connection",
    description: "Lets an agent use one of the caller's tokens.",
    request: { params: AgentPath, body: body(ConnectionCreateRequest) },
    responses: {
      201: json(Connection, "Connected"),
      404: json(ErrorDetail, "The caller has no such token"),
      409: json(
        ErrorDetail,
        "The token is connected to the agent, or has its limit of connections",
      ),
    },
  },
);
connectionRoutes.openapi(create, async (c) => {
  const { agent_id } = c.req.valid("param");
  const { oauth_token_id } = c.req.valid("json");
  return c.json(await createConnection(c.var.ctx, agent_id, oauth_token_id), 201);
});

const remove = operation(
  "delete",
  "/v2/auth/agents/{agent_id}/connections/{connection_id}",
  "deleteAgentConnection",
  {
    summary: "Delete an agent connection",
    description: "The token itself is kept.",
    request: { params: ConnectionPath },
    responses: {
      204: { description: "Deleted" },
      404: json(ErrorDetail, "The caller has no such connection"),
    },
  },
);
connectionRoutes.openapi(remove, async (c) => {
  const { agent_id, connection_id } = c.req.valid("param");
  await deleteConnection(c.var.ctx, agent_id, connection_id);
  return c.body(null, 204);
});
