import { createRoute, z } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { body, bodyRefusals, ErrorDetail, json, refusals } from "../shared/schema.ts";
import { discoverProvider } from "./mcp-service.ts";
import {
  McpDiscoverRequest,
  Provider,
  ProviderCreateRequest,
  ProviderDeleted,
  ProviderPatchRequest,
  ProviderPath,
} from "./provider-schema.ts";
import {
  createProvider,
  deleteProvider,
  getProvider,
  listProviders,
  updateProvider,
} from "./provider-service.ts";

export const providerRoutes = router();

const tags = ["OAuth"];
const missing = { 404: json(ErrorDetail, "No such provider in the workspace") };
const taken = { 409: json(ErrorDetail, "The provider_id is taken") };
const down = { 503: json(ErrorDetail, "The other side cannot be reached; Retry-After says when") };

const list = createRoute({
  method: "get",
  path: "/v2/auth/providers",
  operationId: "listOAuthProviders",
  tags,
  summary: "List OAuth providers",
  responses: { 200: json(z.array(Provider), "All of the workspace"), ...refusals },
});
providerRoutes.openapi(list, async (c) => c.json(await listProviders(c.var.ctx), 200));

const create = createRoute({
  method: "post",
  path: "/v2/auth/providers",
  operationId: "createOAuthProvider",
  tags,
  summary: "Add an OAuth provider",
  request: { body: body(ProviderCreateRequest) },
  responses: {
    200: json(Provider, "Created; the secret is stored encrypted"),
    ...taken,
    ...bodyRefusals,
  },
});
providerRoutes.openapi(create, async (c) =>
  c.json(await createProvider(c.var.ctx, c.req.valid("json")), 200),
);

const discover = createRoute({
  method: "post",
  path: "/v2/auth/providers/mcp-discover",
  operationId: "discoverOAuthProvider",
  tags,
  summary: "Add the OAuth provider of an MCP server, found and registered with by its address",
  request: { body: body(McpDiscoverRequest) },
  responses: { 200: json(Provider, "Created"), ...taken, ...bodyRefusals, ...down },
});
providerRoutes.openapi(discover, async (c) =>
  c.json(await discoverProvider(c.var.ctx, c.req.valid("json"), new URL(c.req.url).origin), 200),
);

const get = createRoute({
  method: "get",
  path: "/v2/auth/providers/{provider_id}",
  operationId: "getOAuthProvider",
  tags,
  summary: "Get an OAuth provider",
  request: { params: ProviderPath },
  responses: { 200: json(Provider, "The provider"), ...refusals, ...missing },
});
providerRoutes.openapi(get, async (c) =>
  c.json(await getProvider(c.var.ctx, c.req.valid("param").provider_id), 200),
);

const update = createRoute({
  method: "patch",
  path: "/v2/auth/providers/{provider_id}",
  operationId: "updateOAuthProvider",
  tags,
  summary: "Change an OAuth provider",
  request: { params: ProviderPath, body: body(ProviderPatchRequest) },
  responses: {
    200: json(Provider, "The provider as it is now"),
    409: json(ErrorDetail, "token_url would move to another host, and there are tokens"),
    ...bodyRefusals,
    ...missing,
  },
});
providerRoutes.openapi(update, async (c) => {
  const { provider_id } = c.req.valid("param");
  return c.json(await updateProvider(c.var.ctx, provider_id, c.req.valid("json")), 200);
});

const remove = createRoute({
  method: "delete",
  path: "/v2/auth/providers/{provider_id}",
  operationId: "deleteOAuthProvider",
  tags,
  summary: "Delete an OAuth provider and its tokens, each revoked first",
  request: { params: ProviderPath },
  responses: {
    200: json(ProviderDeleted, "Deleted"),
    409: json(ErrorDetail, "A token was granted meanwhile; delete it again"),
    ...refusals,
    ...missing,
    ...down,
  },
});
providerRoutes.openapi(remove, async (c) =>
  c.json(await deleteProvider(c.var.ctx, c.req.valid("param").provider_id), 200),
);
