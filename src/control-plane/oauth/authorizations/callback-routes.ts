import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { AppEnv } from "../../../shared/context.ts";
import { AppError } from "../../../shared/errors.ts";
import { router } from "../../../shared/http/http.ts";
import { pageHeaders } from "../../../shared/http/page-headers.ts";
import { ErrorDetail, json, operationWithTag } from "../../../shared/schema.ts";
import { CallbackQuery, Confirmation, SetupQuery } from "../authorization-schema.ts";
import { ProviderPath } from "../provider-schema.ts";
import type { CallbackOutcome } from "./callback-service.ts";
import { answerConsent, openConsent } from "./consent-service.ts";
import { consentPage, endPage } from "./page.ts";

/** Routes that browsers return to without a key, so they precede the authentication. */
export const callbackRoutes = router();

const protect = pageHeaders({ styleSrc: ["'unsafe-inline'"], formAction: ["'self'"] });
for (const path of ["/v2/auth/callback/*", "/v2/auth/setup/*"]) callbackRoutes.use(path, protect);

/** The address of the page holds a code. */
const NOT_CACHED = { "Cache-Control": "no-store" };

const operation = operationWithTag("OAuth");

function page(description: string) {
  return {
    content: { "text/html": { schema: z.string(), example: "<!doctype html>..." } },
    description,
  } as const;
}

const responses = {
  200: page("Page with the question whether to connect"),
  400: page("Page with the reason why it was not connected. `waitForOAuth` returns it too"),
};

const callback = operation("get", "/v2/auth/callback/{provider_id}", "oauthCallback", {
  summary: "Receive the browser after consent",
  description:
    "The provider redirects the browser here. On the page, the person confirms the connection.",
  security: [],
  request: { params: ProviderPath, query: CallbackQuery },
  responses,
});
callbackRoutes.openapi(callback, (c) =>
  openPage(c, c.req.valid("param").provider_id, c.req.valid("query")),
);

const setup = operation("get", "/v2/auth/setup/{provider_id}", "oauthSetup", {
  summary: "Receive the browser after installation",
  description: "GitHub redirects the browser here after a GitHub App was installed.",
  security: [],
  request: { params: ProviderPath, query: SetupQuery },
  responses,
});
callbackRoutes.openapi(setup, (c) =>
  openPage(c, c.req.valid("param").provider_id, c.req.valid("query")),
);

const confirm = operation("post", "/v2/auth/callback/{provider_id}/confirm", "confirmOAuth", {
  summary: "Confirm a connection",
  description:
    "The form of the callback page. Stores the token when the person chooses to connect.",
  security: [],
  request: {
    params: ProviderPath,
    body: {
      content: { "application/x-www-form-urlencoded": { schema: Confirmation } },
      required: true,
    },
  },
  responses: {
    200: page("Connected"),
    400: {
      content: { ...responses[400].content, ...json(ErrorDetail, "").content },
      description: "Page with the reason why it was not connected, or the body is not a form",
    },
  },
});
callbackRoutes.openapi(confirm, async (c) => {
  assertOwnForm(c.req.raw.headers);
  return end(c, await answerConsent(c.env, c.req.valid("param").provider_id, c.req.valid("form")));
});

/** Browsers send the header. `Origin` is "null" here, because the page sends no referrer. */
function assertOwnForm(headers: Headers): void {
  const site = headers.get("Sec-Fetch-Site");
  if (site === null || site === "same-origin") return;
  const text = "The form was sent from another site: confirm on the page of the callback.";
  throw new AppError("bad_request", text);
}

async function openPage(c: Context<AppEnv>, provider_id: string, query: CallbackQuery) {
  const opened = await openConsent(c.env, provider_id, query);
  if (opened.status !== "unconfirmed") return end(c, opened);
  return c.html(consentPage(opened), 200, NOT_CACHED);
}

function end(c: Context<AppEnv>, outcome: CallbackOutcome) {
  return c.html(endPage(outcome), outcome.status === "connected" ? 200 : 400, NOT_CACHED);
}
