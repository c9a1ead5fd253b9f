import { z } from "@hono/zod-openapi";
import { router } from "../../../shared/http/http.ts";
import { body, ErrorDetail, json, operationWithTag } from "../../../shared/schema.ts";
import {
  ProviderQuery,
  TokenDeletion,
  TokenExists,
  TokenMetadata,
  TokenPath,
  TokenSummary,
  TokensQuery,
} from "../token-schema.ts";
import { deleteSlackTokens, hasSlackToken } from "./slack-service.ts";
import {
  deleteToken,
  deleteTokens,
  hasToken,
  listTokens,
  updateTokenMetadata,
} from "./token-service.ts";

export const tokenRoutes = router();

const REVOCATION_HEADER = "X-Token-Revocation";

const operation = operationWithTag("OAuth");
const kept = {
  409: json(ErrorDetail, "The provider refused to revoke the token, which is kept"),
  503: json(
    ErrorDetail,
    "The provider is unavailable, and the token is kept: retry after `Retry-After` seconds",
  ),
};

const list = operation("get", "/v2/auth/tokens", "listOAuthTokens", {
  summary: "List OAuth tokens",
  description: "Tokens of the caller.",
  request: { query: TokensQuery },
  responses: { 200: json(z.array(TokenSummary), "Tokens, oldest first") },
});
tokenRoutes.openapi(list, async (c) =>
  c.json(await listTokens(c.var.ctx, c.req.valid("query")), 200),
);

const removeAll = operation("delete", "/v2/auth/tokens", "deleteOAuthTokens", {
  summary: "Delete OAuth tokens",
  description: "Revokes and deletes all tokens that the caller has of a provider.",
  request: { query: ProviderQuery },
  responses: {
    200: json(TokenDeletion, "Deleted"),
    404: json(ErrorDetail, "The provider does not exist in this workspace"),
    ...kept,
  },
});
tokenRoutes.openapi(removeAll, async (c) =>
  c.json(await deleteTokens(c.var.ctx, c.req.valid("query").provider_id), 200),
);

const exists = operation("get", "/v2/auth/tokens/exists", "hasOAuthToken", {
  summary: "Check for an OAuth token",
  description: "Reports whether the caller has a token of a provider.",
  request: { query: ProviderQuery },
  responses: { 200: json(TokenExists, "Whether a token exists") },
});
tokenRoutes.openapi(exists, async (c) =>
  c.json(await hasToken(c.var.ctx, c.req.valid("query").provider_id), 200),
);

const slackExists = operation("get", "/v2/auth/tokens/workspace/slack/exists", "hasSlackToken", {
  summary: "Check for Slack tokens",
  description: "Reports whether any user or service key of the workspace has a Slack token.",
  responses: { 200: json(TokenExists, "Whether a token exists") },
});
tokenRoutes.openapi(slackExists, async (c) => c.json(await hasSlackToken(c.var.ctx), 200));

const SlackDeleted = TokenDeletion.omit({ provider_id: true }).openapi("SlackTokensDeleted");

const removeSlack = operation("delete", "/v2/auth/tokens/workspace/slack", "deleteSlackTokens", {
  summary: "Delete all Slack tokens",
  description:
    "Revokes and deletes the Slack tokens of all users and service keys of the workspace. For admins.",
  responses: { 200: json(SlackDeleted, "Deleted"), ...kept },
});
tokenRoutes.openapi(removeSlack, async (c) => c.json(await deleteSlackTokens(c.var.ctx), 200));

const update = operation(
  "patch",
  "/v2/auth/tokens/{token_id}/metadata",
  "updateOAuthTokenMetadata",
  {
    summary: "Update OAuth token metadata",
    description: "Sets the label of a token, and whether it is the default.",
    request: { params: TokenPath, body: body(TokenMetadata) },
    responses: { 200: json(TokenSummary, "The updated token") },
  },
);
tokenRoutes.openapi(update, async (c) => {
  const { token_id } = c.req.valid("param");
  return c.json(await updateTokenMetadata(c.var.ctx, token_id, c.req.valid("json")), 200);
});

const remove = operation("delete", "/v2/auth/tokens/{token_id}", "deleteOAuthToken", {
  summary: "Delete an OAuth token",
  description: "Revokes the token at its provider first. For its owner.",
  request: { params: TokenPath },
  responses: {
    204: {
      description: "Deleted",
      headers: {
        [REVOCATION_HEADER]: {
          schema: { type: "string", enum: ["revoked", "unsupported"] },
          description:
            "`unsupported`: the provider has no revocation, so the token may work until it expires",
        },
      },
    },
    ...kept,
  },
});
tokenRoutes.openapi(remove, async (c) => {
  const outcome = await deleteToken(c.var.ctx, c.req.valid("param").token_id);
  return c.body(null, 204, { [REVOCATION_HEADER]: outcome });
});
