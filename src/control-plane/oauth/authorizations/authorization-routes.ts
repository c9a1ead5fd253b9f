import { originOf, router } from "../../../shared/http/http.ts";
import { body, ErrorDetail, json, operationWithTag } from "../../../shared/schema.ts";
import {
  AuthenticateRequest,
  Authentication,
  AuthorizationPath,
  CallbackAnswer,
  CallbackRequest,
  WaitQuery,
  WaitResponse,
} from "../authorization-schema.ts";
import { ProviderPath } from "../provider-schema.ts";
import { authenticateUser } from "./authorization-service.ts";
import { submitCallback } from "./callback-service.ts";
import { waitAuthorization } from "./wait-service.ts";

export const authorizationRoutes = router();

const operation = operationWithTag("OAuth");
const unready = {
  409: json(ErrorDetail, "The provider refused the request, such as for wrong client credentials"),
  503: json(ErrorDetail, "The provider is unavailable: retry after `Retry-After` seconds"),
};

const authenticate = operation("post", "/v2/auth/authenticate", "authenticateOAuth", {
  summary: "Get an OAuth token",
  description: "Returns a token of the caller, or a URL where its user can consent.",
  request: { body: body(AuthenticateRequest) },
  responses: {
    200: json(Authentication, "The token, refreshed if needed, or the URL for the consent"),
    404: json(
      ErrorDetail,
      "The provider or the token does not exist, or the token is not the caller's",
    ),
    ...unready,
    409: json(
      ErrorDetail,
      "The provider refused the request, such as for wrong client credentials, or the user has 1000 tokens of the provider",
    ),
  },
});
authorizationRoutes.openapi(authenticate, async (c) => {
  const origin = originOf(c.req.url);
  return c.json(await authenticateUser(c.var.ctx, c.req.valid("json"), origin), 200);
});

const wait = operation("get", "/v2/auth/wait/{auth_id}", "waitForOAuth", {
  summary: "Wait for a consent",
  description: "Returns when the consent ends or the timeout passes.",
  request: { params: AuthorizationPath, query: WaitQuery },
  responses: { 200: json(WaitResponse, "Status of the authorization"), ...unready },
});
authorizationRoutes.openapi(wait, async (c) => {
  const { auth_id } = c.req.valid("param");
  return c.json(await waitAuthorization(c.var.ctx, auth_id, c.req.valid("query").timeout), 200);
});

const submit = operation("post", "/v2/auth/callback/{provider_id}", "submitOAuthCallback", {
  summary: "Complete an authorization",
  description:
    "For clients that receive the provider's redirect themselves and pass on its `code` and `state`.",
  request: { params: ProviderPath, body: body(CallbackRequest) },
  responses: {
    200: json(CallbackAnswer, "Connected"),
    404: json(ErrorDetail, "`state` is not the caller's, was used before, or has expired"),
  },
});
authorizationRoutes.openapi(submit, async (c) => {
  const { provider_id } = c.req.valid("param");
  return c.json(await submitCallback(c.var.ctx, provider_id, c.req.valid("json")), 200);
});
