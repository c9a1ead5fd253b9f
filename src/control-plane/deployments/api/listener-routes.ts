import { router } from "../../../shared/http/http.ts";
import { body, ErrorDetail, json, operationWithTag, PageQuery } from "../../../shared/schema.ts";
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

const operation = operationWithTag("Listeners");

const list = operation("get", LISTENERS, "listListeners", {
  summary: "List listeners",
  description: "Listeners are stored and shown for clients that manage them. Heddle needs none.",
  request: { query: PageQuery },
  responses: { 200: json(ListenersList, "Page of items, oldest first") },
});
listenerRoutes.openapi(list, async (c) =>
  c.json(await listListeners(c.var.ctx, c.req.valid("query")), 200),
);

const create = operation("post", LISTENERS, "createListener", {
  summary: "Create a listener",
  description: "Needs the enterprise plan.",
  request: { body: body(ListenerCreateRequest) },
  responses: {
    201: json(Listener, "Created"),
    409: json(ErrorDetail, "A listener with this `compute_id` exists"),
  },
});
listenerRoutes.openapi(create, async (c) =>
  c.json(await createListener(c.var.ctx, c.req.valid("json")), 201),
);

const get = operation("get", LISTENER, "getListener", {
  summary: "Get a listener",
  description: "A listener that was created in this workspace.",
  request: { params: ListenerPath },
  responses: { 200: json(Listener, "The listener") },
});
listenerRoutes.openapi(get, async (c) =>
  c.json(await getListener(c.var.ctx, c.req.valid("param").listener_id), 200),
);

const update = operation("patch", LISTENER, "updateListener", {
  summary: "Update a listener",
  description: "Changes the configuration. The compute type and id are fixed.",
  request: { params: ListenerPath, body: body(ListenerPatchRequest) },
  responses: { 200: json(Listener, "The updated listener") },
});
listenerRoutes.openapi(update, async (c) => {
  const { listener_id } = c.req.valid("param");
  return c.json(await updateListener(c.var.ctx, listener_id, c.req.valid("json")), 200);
});

const remove = operation("delete", LISTENER, "deleteListener", {
  summary: "Delete a listener",
  description: "Deployments do not change.",
  request: { params: ListenerPath },
  responses: { 204: { description: "Deleted" } },
});
listenerRoutes.openapi(remove, async (c) => {
  await deleteListener(c.var.ctx, c.req.valid("param").listener_id);
  return c.body(null, 204);
});
