import { router } from "../../../shared/http/http.ts";
import { body, ErrorDetail, json, operationWithTag } from "../../../shared/schema.ts";
import {
  ApiKey,
  ApiKeyCreateRequest,
  ApiKeyList,
  ApiKeyPath,
  ApiKeyWithSecret,
  PersonalKeyCreateRequest,
  PersonalKeyPath,
  RotateQuery,
  ServiceKeyCreateRequest,
} from "./key-schema.ts";
import { listApiKeys, revokeApiKey, rotateApiKey } from "./key-service.ts";
import { createApiKey, createPersonalKey, createServiceKey } from "./new-key-service.ts";

const KEYS = "/api/v1/api-key";
const PERSONAL = "/api/v1/api-key/current";
const SERVICE = "/api/v1/orgs/current/service-keys";

const REVOKED =
  "Requests with the key are refused within 10 seconds. Its open streams and sockets are closed. Its crons and queued runs do not start.";
const ROTATED =
  "The key keeps its id, role and expiry. The previous secret is refused within 10 seconds, or after `overlap_seconds`.";

export const keyRoutes = router();

const operation = operationWithTag("API keys");
const created = {
  200: json(ApiKeyWithSecret, "The key with its secret, which is returned only once"),
};
const listed = { 200: json(ApiKeyList, "Keys that are not revoked, oldest first") };
const revoked = { 200: json(ApiKey, "The revoked key") };
const full = { 409: json(ErrorDetail, "The limit of 1000 keys is reached") };
const last = {
  409: json(ErrorDetail, "The key is the last admin of the workspace or of the organization"),
};

const list = operation("get", KEYS, "listApiKeys", {
  summary: "List API keys",
  description: "Keys of the workspace, without their secrets. For admins.",
  responses: listed,
});
keyRoutes.openapi(list, async (c) => c.json(await listApiKeys(c.var.ctx, "workspace"), 200));

const create = operation("post", KEYS, "createApiKey", {
  summary: "Create an API key",
  description: "Creates a service key of the workspace. It belongs to no user. For admins.",
  request: { body: body(ApiKeyCreateRequest) },
  responses: { ...created, ...full },
});
keyRoutes.openapi(create, async (c) =>
  c.json(await createApiKey(c.var.ctx, c.req.valid("json")), 200),
);

const listPersonal = operation("get", PERSONAL, "listPersonalKeys", {
  summary: "List personal keys",
  description: "Keys of the calling user. Empty for a service key.",
  responses: listed,
});
keyRoutes.openapi(listPersonal, async (c) => c.json(await listApiKeys(c.var.ctx, "personal"), 200));

const createPersonal = operation("post", PERSONAL, "createPersonalKey", {
  summary: "Create a personal key",
  description:
    "The key acts as the calling user, with the user's role in each workspace. It ends with the user's membership.",
  request: { body: body(PersonalKeyCreateRequest) },
  responses: { ...created, ...full },
});
keyRoutes.openapi(createPersonal, async (c) =>
  c.json(await createPersonalKey(c.var.ctx, c.req.valid("json")), 200),
);

const rotatePersonal = operation("post", `${PERSONAL}/{pat_id}/rotate`, "rotatePersonalKey", {
  summary: "Rotate a personal key",
  description: ROTATED,
  request: { params: PersonalKeyPath, query: RotateQuery },
  responses: created,
});
keyRoutes.openapi(rotatePersonal, async (c) => {
  const { pat_id } = c.req.valid("param");
  return c.json(await rotateApiKey(c.var.ctx, "personal", pat_id, c.req.valid("query")), 200);
});

const revokePersonal = operation("delete", `${PERSONAL}/{pat_id}`, "revokePersonalKey", {
  summary: "Revoke a personal key",
  description: REVOKED,
  request: { params: PersonalKeyPath },
  responses: revoked,
});
keyRoutes.openapi(revokePersonal, async (c) =>
  c.json(await revokeApiKey(c.var.ctx, "personal", c.req.valid("param").pat_id), 200),
);

const rotate = operation("post", `${KEYS}/{api_key_id}/rotate`, "rotateApiKey", {
  summary: "Rotate an API key",
  description: ROTATED,
  request: { params: ApiKeyPath, query: RotateQuery },
  responses: created,
});
keyRoutes.openapi(rotate, async (c) => {
  const { api_key_id } = c.req.valid("param");
  return c.json(await rotateApiKey(c.var.ctx, "workspace", api_key_id, c.req.valid("query")), 200);
});

const revoke = operation("delete", `${KEYS}/{api_key_id}`, "revokeApiKey", {
  summary: "Revoke an API key",
  description: REVOKED,
  request: { params: ApiKeyPath },
  responses: { ...revoked, ...last },
});
keyRoutes.openapi(revoke, async (c) =>
  c.json(await revokeApiKey(c.var.ctx, "workspace", c.req.valid("param").api_key_id), 200),
);

const listService = operation("get", SERVICE, "listServiceKeys", {
  summary: "List service keys",
  description: "Keys of the organization and of its workspaces. For admins of the organization.",
  responses: listed,
});
keyRoutes.openapi(listService, async (c) =>
  c.json(await listApiKeys(c.var.ctx, "organization"), 200),
);

const createService = operation("post", SERVICE, "createServiceKey", {
  summary: "Create a service key",
  description:
    "A key for all workspaces selects one with `X-Tenant-Id` on each request. For admins of the organization.",
  request: { body: body(ServiceKeyCreateRequest) },
  responses: { ...created, ...full },
});
keyRoutes.openapi(createService, async (c) =>
  c.json(await createServiceKey(c.var.ctx, c.req.valid("json")), 200),
);

const rotateService = operation("post", `${SERVICE}/{api_key_id}/rotate`, "rotateServiceKey", {
  summary: "Rotate a service key",
  description: ROTATED,
  request: { params: ApiKeyPath, query: RotateQuery },
  responses: created,
});
keyRoutes.openapi(rotateService, async (c) => {
  const { api_key_id } = c.req.valid("param");
  const query = c.req.valid("query");
  return c.json(await rotateApiKey(c.var.ctx, "organization", api_key_id, query), 200);
});

const revokeService = operation("delete", `${SERVICE}/{api_key_id}`, "revokeServiceKey", {
  summary: "Revoke a service key",
  description: REVOKED,
  request: { params: ApiKeyPath },
  responses: { ...revoked, ...last },
});
keyRoutes.openapi(revokeService, async (c) =>
  c.json(await revokeApiKey(c.var.ctx, "organization", c.req.valid("param").api_key_id), 200),
);
