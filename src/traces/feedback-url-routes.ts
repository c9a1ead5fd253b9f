import { createRoute, z } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { body, ErrorDetail, HTTPValidationError, json } from "../shared/schema.ts";
import { FeedbackSaid, FeedbackSaidQuery } from "./feedback-schema.ts";
import { giveFeedback } from "./feedback-url-service.ts";

/** Open to all: the URL is all the right it needs. */
export const feedbackUrlRoutes = router();

const path = "/api/v1/feedback/tokens/{token}";
const params = z.object({ token: z.string().max(2048) });
const common = { path, tags: ["Feedback"], security: [] };
const responses = {
  200: json(
    z.object({ message: z.string() }),
    "Kept; said again, it takes the place of what was said",
  ),
  403: json(ErrorDetail, "The URL is not one that was given, or has expired"),
  404: json(ErrorDetail, "There is no such run, or its trace is not there yet"),
  422: json(HTTPValidationError, "A field is wrong"),
};

feedbackUrlRoutes.openapi(
  createRoute({
    ...common,
    method: "get",
    operationId: "giveFeedbackByLink",
    summary: "Say what you think of a run, by a link that its stream has given",
    request: { params, query: FeedbackSaidQuery },
    responses,
  }),
  async (c) =>
    c.json(await giveFeedback(c.env, c.req.valid("param").token, c.req.valid("query")), 200),
);

feedbackUrlRoutes.openapi(
  createRoute({
    ...common,
    method: "post",
    operationId: "giveFeedback",
    summary: "Say what you think of a run, at a URL that its stream has given",
    request: { params, body: body(FeedbackSaid) },
    responses,
  }),
  async (c) =>
    c.json(await giveFeedback(c.env, c.req.valid("param").token, c.req.valid("json")), 200),
);
