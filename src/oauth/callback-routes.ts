import { createRoute, z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { AppEnv } from "../shared/context.ts";
import { router } from "../shared/http.ts";
import { HTTPValidationError, json } from "../shared/schema.ts";
import { CallbackQuery, SetupQuery } from "./authorization-schema.ts";
import { finishAuthorization } from "./callback-service.ts";
import { endPage, PAGE_HEADERS } from "./page.ts";
import { ProviderPath } from "./provider-schema.ts";

/** Where browsers come back to: without a key, so these stand before the authentication. */
export const callbackRoutes = router();

const tags = ["OAuth"];

function page(description: string) {
  return { content: { "text/html": { schema: z.string() } }, description } as const;
}

const responses = {
  200: page("Connected"),
  400: page("Not connected, and why; `wait` says it too"),
  422: json(HTTPValidationError, "A field is wrong"),
};

const callback = createRoute({
  method: "get",
  path: "/v2/auth/callback/{provider_id}",
  operationId: "oauthCallback",
  tags,
  summary: "Where a provider sends the browser after the consent",
  security: [],
  request: { params: ProviderPath, query: CallbackQuery },
  responses,
});
callbackRoutes.openapi(callback, (c) =>
  finish(c, c.req.valid("param").provider_id, c.req.valid("query")),
);

const setup = createRoute({
  method: "get",
  path: "/v2/auth/setup/{provider_id}",
  operationId: "oauthSetup",
  tags,
  summary: "Where GitHub sends the browser after an app was installed",
  security: [],
  request: { params: ProviderPath, query: SetupQuery },
  responses,
});
callbackRoutes.openapi(setup, (c) =>
  finish(c, c.req.valid("param").provider_id, c.req.valid("query")),
);

async function finish(c: Context<AppEnv>, provider_id: string, query: CallbackQuery) {
  const ended = await finishAuthorization(c.env, provider_id, query);
  return c.html(endPage(ended), ended.ok ? 200 : 400, PAGE_HEADERS);
}
