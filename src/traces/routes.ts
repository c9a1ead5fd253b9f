import { createRoute, z } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import {
  body,
  ErrorDetail,
  HTTPValidationError,
  json,
  QueryBoolean,
  Uuid,
} from "../shared/schema.ts";
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

const tags = ["Projects"];
const ProjectId = z.object({ session_id: Uuid });
const Message = z.object({ message: z.string() });
const missing = { 404: json(ErrorDetail, "There is no such project") };
const forbidden = { 403: json(ErrorDetail, "The caller's role does not allow this") };
const wrong = { 422: json(HTTPValidationError, "A field is wrong") };
const taken = { 409: json(ErrorDetail, "The name is taken") };

const create = createRoute({
  method: "post",
  path: "/api/v1/sessions",
  operationId: "createProject",
  tags,
  summary: "Create a project, or with upsert change the one of that name",
  request: {
    query: z.object({ upsert: QueryBoolean.default(false) }),
    body: body(ProjectCreateRequest),
  },
  responses: { 200: json(Project, "The project"), ...forbidden, ...taken, ...wrong },
});
projectRoutes.openapi(create, async (c) =>
  c.json(await createProject(c.var.ctx, c.req.valid("json"), c.req.valid("query").upsert), 200),
);

const list = createRoute({
  method: "get",
  path: "/api/v1/sessions",
  operationId: "listProjects",
  tags,
  summary: "List projects, newest first",
  request: { query: ProjectsQuery },
  responses: { 200: json(z.array(Project), "One page"), ...wrong },
});
projectRoutes.openapi(list, async (c) =>
  c.json(await listProjects(c.var.ctx, c.req.valid("query")), 200),
);

const get = createRoute({
  method: "get",
  path: "/api/v1/sessions/{session_id}",
  operationId: "getProject",
  tags,
  summary: "Get a project",
  request: { params: ProjectId, query: ProjectQuery },
  responses: { 200: json(Project, "The project"), ...missing, ...wrong },
});
projectRoutes.openapi(get, async (c) =>
  c.json(await getProject(c.var.ctx, c.req.valid("param").session_id, c.req.valid("query")), 200),
);

const update = createRoute({
  method: "patch",
  path: "/api/v1/sessions/{session_id}",
  operationId: "updateProject",
  tags,
  summary: "Change a project",
  request: { params: ProjectId, body: body(ProjectUpdateRequest) },
  responses: { 200: json(Project, "Changed"), ...forbidden, ...missing, ...taken, ...wrong },
});
projectRoutes.openapi(update, async (c) =>
  c.json(await updateProject(c.var.ctx, c.req.valid("param").session_id, c.req.valid("json")), 200),
);

const remove = createRoute({
  method: "delete",
  path: "/api/v1/sessions/{session_id}",
  operationId: "deleteProject",
  tags,
  summary: "Delete a project with all its runs",
  request: { params: ProjectId },
  responses: { 202: json(Message, "It is gone; its runs follow"), ...forbidden, ...missing },
});
projectRoutes.openapi(remove, async (c) =>
  c.json(await deleteProject(c.var.ctx, c.req.valid("param").session_id), 202),
);
