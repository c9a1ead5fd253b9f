import { z } from "@hono/zod-openapi";
import { router } from "../../shared/http/http.ts";
import { body, ErrorDetail, json, operationWithTag, textField } from "../../shared/schema.ts";
import { FeedbackInput, FeedbackInputQuery } from "./feedback-schema.ts";
import { submitFeedback } from "./feedback-url-service.ts";

/** Routes without authentication: the token in the URL is the credential. */
export const feedbackUrlRoutes = router();

const path = "/api/v1/feedback/tokens/{token}";
const params = z.object({ token: z.string().max(2048).describe("Token of the presigned URL") });
const operation = operationWithTag("Feedback");
const security: [] = [];
const responses = {
  200: json(
    z.object({
      message: textField("Confirmation", "Thank you."),
    }),
    "Saved. Repeated feedback replaces the earlier one",
  ),
  403: json(ErrorDetail, "Invalid or expired URL"),
  404: json(ErrorDetail, "The run does not exist, or its trace has not arrived yet"),
};

const giveByLink = operation("get", path, "giveFeedbackByLink", {
  summary: "Create feedback by link",
  description:
    "For links in emails and messages. The URL comes from the stream of a run or from `POST /api/v1/feedback/tokens`.",
  security,
  request: { params, query: FeedbackInputQuery },
  responses,
});
feedbackUrlRoutes.openapi(giveByLink, async (c) =>
  c.json(await submitFeedback(c.env, c.req.valid("param").token, c.req.valid("query")), 200),
);

const give = operation("post", path, "giveFeedback", {
  summary: "Create feedback at a presigned URL",
  description:
    "Needs no API key: the URL, from the stream of a run or from `POST /api/v1/feedback/tokens`, is the credential.",
  security,
  request: { params, body: body(FeedbackInput) },
  responses,
});
feedbackUrlRoutes.openapi(give, async (c) =>
  c.json(await submitFeedback(c.env, c.req.valid("param").token, c.req.valid("json")), 200),
);
