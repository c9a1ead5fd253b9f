import { z } from "@hono/zod-openapi";
import { router } from "../../shared/http/http.ts";
import {
  body,
  ErrorDetail,
  json,
  operationWithTag,
  QueryBoolean,
  textField,
  Uuid,
} from "../../shared/schema.ts";
import {
  Project,
  ProjectCreateRequest,
  ProjectQuery,
  ProjectsQuery,
  ProjectUpdateRequest,
} from "./schema.ts";
import {
  createProject,
  deleteProject,
  getProject,
  listProjects,
  updateProject,
} from "./service.ts";

export const projectRoutes = router();

const operation = operationWithTag("Projects");
const ProjectId = z.object({ session_id: Uuid.describe("Id of the project") });
const Message = z.object({
  message: textField("Confirmation", "Project deletion has started"),
});
const taken = { 409: json(ErrorDetail, "The name is taken") };

const create = operation("post", "/api/v1/sessions", "createProject", {
  summary: "Create a project",
  description: "With `upsert`, updates the project of that name if it exists.",
  request: {
    query: z.object({
      upsert: QueryBoolean.default(false).describe(
        "Whether to update the project of that name when it exists",
      ),
    }),
    body: body(ProjectCreateRequest),
  },
  responses: { 200: json(Project, "The project"), ...taken },
});
projectRoutes.openapi(create, async (c) =>
  c.json(await createProject(c.var.ctx, c.req.valid("json"), c.req.valid("query").upsert), 200),
);

const list = operation("get", "/api/v1/sessions", "listProjects", {
  summary: "List projects",
  description: "Newest first.",
  request: { query: ProjectsQuery },
  responses: { 200: json(z.array(Project), "Page of results") },
});
projectRoutes.openapi(list, async (c) =>
  c.json(await listProjects(c.var.ctx, c.req.valid("query")), 200),
);

const get = operation("get", "/api/v1/sessions/{session_id}", "getProject", {
  summary: "Get a project",
  description: "With statistics where `include_stats` is set.",
  request: { params: ProjectId, query: ProjectQuery },
  responses: { 200: json(Project, "The project") },
});
projectRoutes.openapi(get, async (c) =>
  c.json(await getProject(c.var.ctx, c.req.valid("param").session_id, c.req.valid("query")), 200),
);

const update = operation("patch", "/api/v1/sessions/{session_id}", "updateProject", {
  summary: "Update a project",
  description:
    "Fields that are `null` do not change, except `trace_tier`, `sampling_rate` and `redactions`: `null` removes the setting.",
  request: { params: ProjectId, body: body(ProjectUpdateRequest) },
  responses: { 200: json(Project, "The updated resource"), ...taken },
});
projectRoutes.openapi(update, async (c) =>
  c.json(await updateProject(c.var.ctx, c.req.valid("param").session_id, c.req.valid("json")), 200),
);

const remove = operation("delete", "/api/v1/sessions/{session_id}", "deleteProject", {
  summary: "Delete a project",
  description: "Deletes its runs too, in the background.",
  request: { params: ProjectId },
  responses: {
    202: json(Message, "The project is deleted. The deletion of its runs has begun"),
    409: json(ErrorDetail, "The project is on legal hold"),
  },
});
projectRoutes.openapi(remove, async (c) =>
  c.json(await deleteProject(c.var.ctx, c.req.valid("param").session_id), 202),
);
