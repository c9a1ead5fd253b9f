import { z } from "@hono/zod-openapi";
import { originOf, router } from "../../../shared/http/http.ts";
import { body, ErrorDetail, json, operationWithTag } from "../../../shared/schema.ts";
import {
  McpDiscoverRequest,
  Provider,
  ProviderCreateRequest,
  ProviderDeletion,
  ProviderPatchRequest,
  ProviderPath,
} from "../provider-schema.ts";
import { discoverProvider } from "./mcp-service.ts";
import {
  createProvider,
  deleteProvider,
  getProvider,
  listProviders,
  updateProvider,
} from "./provider-service.ts";

export const providerRoutes = router();

const operation = operationWithTag("OAuth");
const taken = {
  409: json(
    ErrorDetail,
    "A provider with this `provider_id` exists, or the workspace has 500 providers",
  ),
};
const down = {
  503: json(ErrorDetail, "The server is unavailable: retry after `Retry-After` seconds"),
};

const list = operation("get", "/v2/auth/providers", "listOAuthProviders", {
  summary: "List OAuth providers",
  description: "Without client secrets.",
  responses: { 200: json(z.array(Provider), "All OAuth providers of the workspace") },
});
providerRoutes.openapi(list, async (c) => c.json(await listProviders(c.var.ctx), 200));

const create = operation("post", "/v2/auth/providers", "createOAuthProvider", {
  summary: "Create an OAuth provider",
  description: "The client secret is stored encrypted, and is never returned.",
  request: { body: body(ProviderCreateRequest) },
  responses: {
    200: json(Provider, "The provider. Its client secret is stored encrypted"),
    ...taken,
  },
});
providerRoutes.openapi(create, async (c) =>
  c.json(await createProvider(c.var.ctx, c.req.valid("json")), 200),
);

const discover = operation("post", "/v2/auth/providers/mcp-discover", "discoverOAuthProvider", {
  summary: "Discover an OAuth provider",
  description:
    "Reads the metadata of an MCP server and registers a client with its authorization server.",
  request: { body: body(McpDiscoverRequest) },
  responses: { 200: json(Provider, "Created"), ...taken, ...down },
});
providerRoutes.openapi(discover, async (c) =>
  c.json(await discoverProvider(c.var.ctx, c.req.valid("json"), originOf(c.req.url)), 200),
);

const get = operation("get", "/v2/auth/providers/{provider_id}", "getOAuthProvider", {
  summary: "Get an OAuth provider",
  description: "Without the client secret.",
  request: { params: ProviderPath },
  responses: { 200: json(Provider, "The provider") },
});
providerRoutes.openapi(get, async (c) =>
  c.json(await getProvider(c.var.ctx, c.req.valid("param").provider_id), 200),
);

const update = operation("patch", "/v2/auth/providers/{provider_id}", "updateOAuthProvider", {
  summary: "Update an OAuth provider",
  description:
    "`null` leaves a field unchanged. A `token_url` of another origin needs the client secret again, if one is stored, because it is sent there.",
  request: { params: ProviderPath, body: body(ProviderPatchRequest) },
  responses: {
    200: json(Provider, "The updated provider"),
    409: json(
      ErrorDetail,
      "`token_url` cannot change its origin while tokens exist or a code is exchanged, or another request changed the provider",
    ),
  },
});
providerRoutes.openapi(update, async (c) => {
  const { provider_id } = c.req.valid("param");
  return c.json(await updateProvider(c.var.ctx, provider_id, c.req.valid("json")), 200);
});

const remove = operation("delete", "/v2/auth/providers/{provider_id}", "deleteOAuthProvider", {
  summary: "Delete an OAuth provider",
  description:
    "Revokes and deletes its tokens first. A token that the provider refuses to revoke is deleted without revocation.",
  request: { params: ProviderPath },
  responses: {
    200: json(ProviderDeletion, "Deleted"),
    409: json(ErrorDetail, "A token was granted during the deletion: retry"),
    ...down,
  },
});
providerRoutes.openapi(remove, async (c) =>
  c.json(await deleteProvider(c.var.ctx, c.req.valid("param").provider_id), 200),
);
