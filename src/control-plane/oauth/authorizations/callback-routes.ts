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

/** Routes that providers redirect browsers to. The browsers send no key, so these routes precede the authentication. */
export const callbackRoutes = router();

/** Pages have inline styles and a form, and no scripts. */
const securityHeaders = pageHeaders({ styleSrc: ["'unsafe-inline'"], formAction: ["'self'"] });
for (const path of ["/v2/auth/callback/*", "/v2/auth/setup/*"])
  callbackRoutes.use(path, securityHeaders);

/** Pages are not cached, because their URL and their form contain an authorization code. */
const NOT_CACHED = { "Cache-Control": "no-store" };

const operation = operationWithTag("OAuth");

function page(description: string) {
  return {
    content: { "text/html": { schema: z.string(), example: "<!doctype html>..." } },
    description,
  } as const;
}

const responses = {
  200: page("Confirmation page"),
  400: page(
    "Page with the reason why it was not connected. `GET /v2/auth/wait/{auth_id}` returns the same reason, unless `state` is unknown",
  ),
};

const callback = operation("get", "/v2/auth/callback/{provider_id}", "oauthCallback", {
  summary: "Receive the OAuth redirect",
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
  summary: "Receive the GitHub App redirect",
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
  assertFormOrigin(c.req.raw.headers);
  return renderOutcome(
    c,
    await answerConsent(c.env, c.req.valid("param").provider_id, c.req.valid("form")),
  );
});

/**
 * Refuses forms of other origins (CSRF) by `Sec-Fetch-Site`. Accepts forms without the header, which older browsers do
 * not send. `Origin` is "null" in every form, because the page sends no referrer.
 */
function assertFormOrigin(headers: Headers): void {
  const site = headers.get("Sec-Fetch-Site");
  if (site === null || site === "same-origin") return;
  const text = "The form was sent from another site: confirm on the page of the callback.";
  throw new AppError("bad_request", text);
}

async function openPage(c: Context<AppEnv>, provider_id: string, query: CallbackQuery) {
  const consent = await openConsent(c.env, provider_id, query);
  if (consent.status !== "unconfirmed") return renderOutcome(c, consent);
  return c.html(consentPage(consent), 200, NOT_CACHED);
}

function renderOutcome(c: Context<AppEnv>, outcome: CallbackOutcome) {
  return c.html(endPage(outcome), outcome.status === "connected" ? 200 : 400, NOT_CACHED);
}
