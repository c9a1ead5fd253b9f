import { createRoute, z } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { body, bodyRefusals, ErrorDetail, json, refusals } from "../shared/schema.ts";
import { deleteSlackTokens, hasSlackToken } from "./slack-service.ts";
import {
  ProviderQuery,
  TokenExists,
  TokenMetadata,
  TokenPath,
  TokenSummary,
  TokensDeleted,
  TokensQuery,
} from "./token-schema.ts";
import {
  deleteToken,
  deleteTokens,
  hasToken,
  listTokens,
  updateTokenMetadata,
} from "./token-service.ts";

export const tokenRoutes = router();

const REVOCATION_HEADER = "X-Token-Revocation";

const tags = ["OAuth"];
const missing = { 404: json(ErrorDetail, "No such token of the caller") };
const kept = {
  409: json(ErrorDetail, "The provider refuses to revoke it; it was kept"),
  503: json(ErrorDetail, "The provider cannot be reached; it was kept, Retry-After says when"),
};

const list = createRoute({
  method: "get",
  path: "/v2/auth/tokens",
  operationId: "listOAuthTokens",
  tags,
  summary: "List the caller's OAuth tokens",
  request: { query: TokensQuery },
  responses: { 200: json(z.array(TokenSummary), "Oldest first"), ...refusals },
});
tokenRoutes.openapi(list, async (c) =>
  c.json(await listTokens(c.var.ctx, c.req.valid("query")), 200),
);

const removeAll = createRoute({
  method: "delete",
  path: "/v2/auth/tokens",
  operationId: "deleteOAuthTokens",
  tags,
  summary: "Delete all of the caller's tokens of a provider, each revoked first",
  request: { query: ProviderQuery },
  responses: {
    200: json(TokensDeleted, "Deleted"),
    404: json(ErrorDetail, "No such provider in the workspace"),
    ...refusals,
    ...kept,
  },
});
tokenRoutes.openapi(removeAll, async (c) =>
  c.json(await deleteTokens(c.var.ctx, c.req.valid("query").provider_id), 200),
);

const exists = createRoute({
  method: "get",
  path: "/v2/auth/tokens/exists",
  operationId: "hasOAuthToken",
  tags,
  summary: "Whether the caller has a token of a provider",
  request: { query: ProviderQuery },
  responses: { 200: json(TokenExists, "Whether there is one"), ...refusals },
});
tokenRoutes.openapi(exists, async (c) =>
  c.json(await hasToken(c.var.ctx, c.req.valid("query").provider_id), 200),
);

const slackExists = createRoute({
  method: "get",
  path: "/v2/auth/tokens/workspace/slack/exists",
  operationId: "hasSlackToken",
  tags,
  summary: "Whether anybody of the workspace has a Slack token",
  responses: { 200: json(TokenExists, "Whether there is one"), ...refusals },
});
tokenRoutes.openapi(slackExists, async (c) => c.json(await hasSlackToken(c.var.ctx), 200));

const SlackDeleted = TokensDeleted.omit({ provider_id: true }).openapi("SlackTokensDeleted");

const removeSlack = createRoute({
  method: "delete",
  path: "/v2/auth/tokens/workspace/slack",
  operationId: "deleteSlackTokens",
  tags,
  summary: "Delete everybody's Slack tokens, each revoked first; admins only",
  responses: { 200: json(SlackDeleted, "Deleted"), ...refusals, ...kept },
});
tokenRoutes.openapi(removeSlack, async (c) => c.json(await deleteSlackTokens(c.var.ctx), 200));

const update = createRoute({
  method: "patch",
  path: "/v2/auth/tokens/{token_id}/metadata",
  operationId: "updateOAuthTokenMetadata",
  tags,
  summary: "Name a token, or make it the default one",
  request: { params: TokenPath, body: body(TokenMetadata) },
  responses: { 200: json(TokenSummary, "The token as it is now"), ...bodyRefusals, ...missing },
});
tokenRoutes.openapi(update, async (c) => {
  const { token_id } = c.req.valid("param");
  return c.json(await updateTokenMetadata(c.var.ctx, token_id, c.req.valid("json")), 200);
});

const remove = createRoute({
  method: "delete",
  path: "/v2/auth/tokens/{token_id}",
  operationId: "deleteOAuthToken",
  tags,
  summary: "Revoke a token at its provider, then delete it; its owner only",
  request: { params: TokenPath },
  responses: {
    204: {
      description: "Deleted",
      headers: {
        [REVOCATION_HEADER]: {
          schema: { type: "string", enum: ["revoked", "unsupported"] },
          description:
            "unsupported: the provider takes no tokens back, so it may work until it ends",
        },
      },
    },
    ...refusals,
    ...missing,
    ...kept,
  },
});
tokenRoutes.openapi(remove, async (c) => {
  const outcome = await deleteToken(c.var.ctx, c.req.valid("param").token_id);
  return c.body(null, 204, { [REVOCATION_HEADER]: outcome });
});
