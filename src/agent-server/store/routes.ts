import { z } from "@hono/zod-openapi";
import { router } from "../../shared/http/http.ts";
import { jsonText } from "../../shared/http/json-body.ts";
import { body, json, operationWithTag, text } from "../../shared/schema.ts";
import {
  DeleteItem,
  FoundItems,
  GetItemQuery,
  Item,
  ListNamespaces,
  Namespaces,
  PutItem,
  SearchItems,
  StorePath,
} from "./schema.ts";
import { deleteItem, getItem, listNamespaces, putItem, searchItems } from "./service.ts";

const STORE = "/agents/{deployment_id}/store";
const operation = operationWithTag("Store");

const errors = {
  400: text("Invalid request, or missing namespace"),
  401: text("Missing or invalid credentials"),
  404: text("Not found"),
  413: text("The item, the response or the store is too large"),
  415: text("The Content-Type is not application/json"),
  429: text("Too many requests"),
  500: text("Internal error"),
  503: text("Temporarily unavailable, or the agent's embedding function failed"),
};

export const storeRoutes = router();

storeRoutes.openapi(
  operation("put", `${STORE}/items`, "putStoreItem", {
    summary: "Create or replace an item",
    description: "Replaces the whole value. An item is at most 1,900,000 bytes.",
    request: { params: StorePath, body: body(PutItem) },
    responses: { 204: { description: "Stored" }, ...errors },
  }),
  async (c) => {
    const { deployment_id } = c.req.valid("param");
    await putItem(c.var.ctx, deployment_id, c.req.valid("json"));
    return c.body(null, 204);
  },
);

storeRoutes.openapi(
  operation("get", `${STORE}/items`, "getStoreItem", {
    summary: "Get an item",
    description: "Returns `null` when the item does not exist.",
    request: { params: StorePath, query: GetItemQuery },
    responses: {
      200: json(z.union([Item, z.null()]), "The item, `null` when it does not exist"),
      ...errors,
    },
  }),
  async (c) => {
    const { deployment_id } = c.req.valid("param");
    return jsonText(await getItem(c.var.ctx, deployment_id, c.req.valid("query")));
  },
);

storeRoutes.openapi(
  operation("delete", `${STORE}/items`, "deleteStoreItem", {
    summary: "Delete an item",
    description: "Succeeds also when the item does not exist.",
    request: { params: StorePath, body: body(DeleteItem) },
    responses: { 204: { description: "Deleted" }, ...errors },
  }),
  async (c) => {
    const { deployment_id } = c.req.valid("param");
    await deleteItem(c.var.ctx, deployment_id, c.req.valid("json"));
    return c.body(null, 204);
  },
);

storeRoutes.openapi(
  operation("post", `${STORE}/items/search`, "queryStoreItems", {
    summary: "Search items",
    description: "Items below a namespace, newest first, or by similarity to `query`.",
    request: { params: StorePath, body: body(SearchItems) },
    responses: { 200: json(FoundItems, "The items"), ...errors },
  }),
  async (c) => {
    const { deployment_id } = c.req.valid("param");
    return jsonText(await searchItems(c.var.ctx, deployment_id, c.req.valid("json")));
  },
);

storeRoutes.openapi(
  operation("post", `${STORE}/namespaces`, "listStoreNamespaces", {
    summary: "List namespaces",
    description: "Namespaces that have items, by first and last labels.",
    request: { params: StorePath, body: body(ListNamespaces) },
    responses: { 200: json(Namespaces, "The namespaces, sorted"), ...errors },
  }),
  async (c) => {
    const { deployment_id } = c.req.valid("param");
    return c.json(await listNamespaces(c.var.ctx, deployment_id, c.req.valid("json")), 200);
  },
);
