import { createRoute } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { body, bodyRefusals, ErrorDetail, json, PageQuery, refusals } from "../shared/schema.ts";
import {
  Listener,
  ListenerCreateRequest,
  ListenerPatchRequest,
  ListenerPath,
  ListenersList,
} from "./listener-schema.ts";
import {
  createListener,
  deleteListener,
  getListener,
  listListeners,
  updateListener,
} from "./listener-service.ts";

const LISTENERS = "/v2/listeners";
const LISTENER = "/v2/listeners/{listener_id}";

export const listenerRoutes = router();

const tags = ["Listeners"];
const missing = { 404: json(ErrorDetail, "No such listener in the workspace") };

const list = createRoute({
  method: "get",
  path: LISTENERS,
  operationId: "listListeners",
  tags,
  summary: "List listeners",
  request: { query: PageQuery },
  responses: { 200: json(ListenersList, "A page, oldest first"), ...refusals },
});
listenerRoutes.openapi(list, async (c) =>
  c.json(await listListeners(c.var.ctx, c.req.valid("query")), 200),
);

const create = createRoute({
  method: "post",
  path: LISTENERS,
  operationId: "createListener",
  tags,
  summary: "Register a listener; the enterprise plan has them",
  request: { body: body(ListenerCreateRequest) },
  responses: {
    201: json(Listener, "Created"),
    409: json(ErrorDetail, "The workspace has one of this compute_id"),
    ...bodyRefusals,
  },
});
listenerRoutes.openapi(create, async (c) =>
  c.json(await createListener(c.var.ctx, c.req.valid("json")), 201),
);

const get = createRoute({
  method: "get",
  path: LISTENER,
  operationId: "getListener",
  tags,
  summary: "Get a listener",
  request: { params: ListenerPath },
  responses: { 200: json(Listener, "The listener"), ...refusals, ...missing },
});
listenerRoutes.openapi(get, async (c) =>
  c.json(await getListener(c.var.ctx, c.req.valid("param").listener_id), 200),
);

const update = createRoute({
  method: "patch",
  path: LISTENER,
  operationId: "updateListener",
  tags,
  summary: "Change a listener",
  request: { params: ListenerPath, body: body(ListenerPatchRequest) },
  responses: { 200: json(Listener, "As it is now"), ...bodyRefusals, ...missing },
});
listenerRoutes.openapi(update, async (c) => {
  const { listener_id } = c.req.valid("param");
  return c.json(await updateListener(c.var.ctx, listener_id, c.req.valid("json")), 200);
});

const remove = createRoute({
  method: "delete",
  path: LISTENER,
  operationId: "deleteListener",
  tags,
  summary: "Delete a listener",
  request: { params: ListenerPath },
  responses: { 204: { description: "Deleted" }, ...refusals, ...missing },
});
listenerRoutes.openapi(remove, async (c) => {
  await deleteListener(c.var.ctx, c.req.valid("param").listener_id);
  return c.body(null, 204);
});
