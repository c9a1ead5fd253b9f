import { z } from "@hono/zod-openapi";
import { router } from "../../../../shared/http/http.ts";
import { jsonText } from "../../../../shared/http/json-body.ts";
import { json, operationWithTag } from "../../../../shared/schema.ts";
import {
  AssistantGraph,
  AssistantPath,
  GraphQuery,
  GraphSchemas,
  SubgraphSchemas,
  SubgraphsPath,
  SubgraphsQuery,
} from "./assistant-schema.ts";
import { drawGraph, getSchemas, getSubgraphs } from "./graph-service.ts";

const ASSISTANT = "/agents/{deployment_id}/assistants/{assistant_id}";
const operation = operationWithTag("Assistants");
const subgraphs = json(z.record(z.string(), SubgraphSchemas), "The schemas by namespace");

export const graphRoutes = router();

graphRoutes.openapi(
  operation("get", `${ASSISTANT}/graph`, "getAssistantGraph", {
    summary: "Get an assistant's graph",
    description: "Nodes and edges, as LangGraph draws them. `xray` draws subgraphs too.",
    request: { params: AssistantPath, query: GraphQuery },
    responses: { 200: json(AssistantGraph, "The graph") },
  }),
  async (c) => {
    const { xray } = c.req.valid("query");
    return jsonText(await drawGraph(c.var.ctx, c.req.valid("param"), xray));
  },
);

graphRoutes.openapi(
  operation("get", `${ASSISTANT}/schemas`, "getAssistantSchemas", {
    summary: "Get an assistant's schemas",
    description: "JSON Schemas of input, output, state, config and context.",
    request: { params: AssistantPath },
    responses: { 200: json(GraphSchemas, "The schemas") },
  }),
  async (c) => c.json(await getSchemas(c.var.ctx, c.req.valid("param")), 200),
);

graphRoutes.openapi(
  operation("get", `${ASSISTANT}/subgraphs`, "getAssistantSubgraphs", {
    summary: "Get the schemas of subgraphs",
    description: "Schemas of each subgraph, by namespace.",
    request: { params: AssistantPath, query: SubgraphsQuery },
    responses: { 200: subgraphs },
  }),
  async (c) => {
    const query = { ...c.req.valid("query"), namespace: null };
    return c.json(await getSubgraphs(c.var.ctx, c.req.valid("param"), query), 200);
  },
);

graphRoutes.openapi(
  operation("get", `${ASSISTANT}/subgraphs/{namespace}`, "getAssistantSubgraph", {
    summary: "Get the schemas of one subgraph",
    description: "Schemas of the subgraph in the path.",
    request: { params: SubgraphsPath, query: SubgraphsQuery },
    responses: { 200: subgraphs },
  }),
  async (c) => {
    const { namespace, ...ref } = c.req.valid("param");
    const query = { ...c.req.valid("query"), namespace };
    return c.json(await getSubgraphs(c.var.ctx, ref, query), 200);
  },
);
