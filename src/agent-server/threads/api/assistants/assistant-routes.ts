import { z } from "@hono/zod-openapi";
import { router } from "../../../../shared/http/http.ts";
import { body, json, operationWithTag } from "../../../../shared/schema.ts";
import { AgentPath } from "../../contract/requests/schema.ts";
import { PAGE_HEADERS } from "../responses-schema.ts";
import {
  Assistant,
  AssistantCount,
  AssistantCreate,
  AssistantDeleteQuery,
  AssistantLatest,
  AssistantPatch,
  AssistantPath,
  AssistantSearch,
  AssistantVersion,
  AssistantVersionsQuery,
} from "./assistant-schema.ts";
import {
  countAssistants,
  createAssistant,
  deleteAssistant,
  getAssistant,
  searchAssistants,
} from "./assistant-service.ts";
import { listAssistantVersions, setLatestVersion, updateAssistant } from "./version-service.ts";

const ASSISTANTS = "/agents/{deployment_id}/assistants";
const ASSISTANT = `${ASSISTANTS}/{assistant_id}` as const;
const operation = operationWithTag("Assistants");

export const assistantRoutes = router();

assistantRoutes.openapi(
  operation("post", ASSISTANTS, "createAssistant", {
    summary: "Create an assistant",
    description:
      "A configuration of a graph, as its version 1. An id that exists is a 409, unless `if_exists` is `do_nothing`.",
    request: { params: AgentPath, body: body(AssistantCreate) },
    responses: { 200: json(Assistant, "The assistant") },
  }),
  async (c) => {
    const { deployment_id } = c.req.valid("param");
    return c.json(await createAssistant(c.var.ctx, deployment_id, c.req.valid("json")), 200);
  },
);

assistantRoutes.openapi(
  operation("post", `${ASSISTANTS}/search`, "searchAssistants", {
    summary: "Search assistants",
    description:
      "By graph, name and metadata. `X-Pagination-Next` has the offset of the next page.",
    request: { params: AgentPath, body: body(AssistantSearch) },
    responses: {
      200: { ...json(z.array(Assistant.partial()), "Page of results"), headers: PAGE_HEADERS },
    },
  }),
  async (c) => {
    const { deployment_id } = c.req.valid("param");
    const query = c.req.valid("json");
    const { rows, headers } = await searchAssistants(c.var.ctx, deployment_id, query);
    return c.json(rows, 200, headers);
  },
);

assistantRoutes.openapi(
  operation("post", `${ASSISTANTS}/count`, "countAssistants", {
    summary: "Count assistants",
    description: "Counts what a search with the same filter finds.",
    request: { params: AgentPath, body: body(AssistantCount) },
    responses: { 200: json(z.number().int(), "Number of matches") },
  }),
  async (c) => {
    const { deployment_id } = c.req.valid("param");
    return c.json(await countAssistants(c.var.ctx, deployment_id, c.req.valid("json")), 200);
  },
);

assistantRoutes.openapi(
  operation("get", ASSISTANT, "getAssistant", {
    summary: "Get an assistant",
    description: "The path takes the assistant's id or the name of its graph.",
    request: { params: AssistantPath },
    responses: { 200: json(Assistant, "The assistant") },
  }),
  async (c) => c.json(await getAssistant(c.var.ctx, c.req.valid("param")), 200),
);

assistantRoutes.openapi(
  operation("patch", ASSISTANT, "updateAssistant", {
    summary: "Update an assistant",
    description: "Creates a new version.",
    request: { params: AssistantPath, body: body(AssistantPatch) },
    responses: { 200: json(Assistant, "The assistant") },
  }),
  async (c) =>
    c.json(await updateAssistant(c.var.ctx, c.req.valid("param"), c.req.valid("json")), 200),
);

assistantRoutes.openapi(
  operation("delete", ASSISTANT, "deleteAssistant", {
    summary: "Delete an assistant",
    description:
      "Deletes all versions. The assistant of a graph is reset to its defaults instead. `delete_threads` deletes the assistant's threads too.",
    request: { params: AssistantPath, query: AssistantDeleteQuery },
    responses: { 204: { description: "Deleted" } },
  }),
  async (c) => {
    await deleteAssistant(c.var.ctx, c.req.valid("param"), c.req.valid("query"));
    return c.body(null, 204);
  },
);

assistantRoutes.openapi(
  operation("post", `${ASSISTANT}/versions`, "listAssistantVersions", {
    summary: "List assistant versions",
    description: "Newest first.",
    request: { params: AssistantPath, body: body(AssistantVersionsQuery) },
    responses: { 200: json(z.array(AssistantVersion), "The versions") },
  }),
  async (c) => {
    const query = c.req.valid("json");
    return c.json(await listAssistantVersions(c.var.ctx, c.req.valid("param"), query), 200);
  },
);

assistantRoutes.openapi(
  operation("post", `${ASSISTANT}/latest`, "setLatestAssistantVersion", {
    summary: "Set the latest version",
    description: "Runs use this version from now on.",
    request: { params: AssistantPath, body: body(AssistantLatest) },
    responses: { 200: json(Assistant, "The assistant") },
  }),
  async (c) => {
    const { version } = c.req.valid("json");
    return c.json(await setLatestVersion(c.var.ctx, c.req.valid("param"), version), 200);
  },
);
