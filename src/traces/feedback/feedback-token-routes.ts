import { z } from "@hono/zod-openapi";
import { originOf, router } from "../../shared/http/http.ts";
import { body, json, operationWithTag } from "../../shared/schema.ts";
import {
  FeedbackToken,
  FeedbackTokenRequests,
  FeedbackTokensQuery,
} from "./feedback-token-schema.ts";
import { createFeedbackTokens, listFeedbackTokens } from "./feedback-token-service.ts";

export const feedbackTokenRoutes = router();

const path = "/api/v1/feedback/tokens";
const operation = operationWithTag("Feedback");

const create = operation("post", path, "createFeedbackToken", {
  summary: "Create presigned feedback URLs",
  description:
    "A URL accepts feedback with one key for one run, without an API key, until it expires. Later feedback at the same URL replaces the earlier one.",
  request: { body: body(FeedbackTokenRequests) },
  responses: {
    200: json(
      z.union([FeedbackToken, z.array(FeedbackToken)]),
      "The token, a list when the body is a list",
    ),
  },
});
feedbackTokenRoutes.openapi(create, async (c) => {
  const sent = c.req.valid("json");
  const tokens = await createFeedbackTokens(c.var.ctx, [sent].flat(), originOf(c.req.url));
  const [first] = tokens;
  return c.json(first === undefined || Array.isArray(sent) ? tokens : first, 200);
});

const list = operation("get", path, "listFeedbackTokens", {
  summary: "List presigned feedback URLs",
  description:
    "URLs that were created with a removed encryption key still work, but are not listed.",
  request: { query: FeedbackTokensQuery },
  responses: { 200: json(z.array(FeedbackToken), "URLs of the run that have not expired") },
});
feedbackTokenRoutes.openapi(list, async (c) =>
  c.json(await listFeedbackTokens(c.var.ctx, c.req.valid("query"), originOf(c.req.url)), 200),
);
