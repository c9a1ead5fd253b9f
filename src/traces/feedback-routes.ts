import { createRoute, z } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { body, ErrorDetail, HTTPValidationError, json } from "../shared/schema.ts";
import { Feedback, FeedbackCreateRequest, FeedbackQuery } from "./feedback-schema.ts";
import { createFeedback, listFeedback } from "./feedback-service.ts";

export const feedbackRoutes = router();

const tags = ["Feedback"];

const create = createRoute({
  method: "post",
  path: "/api/v1/feedback",
  operationId: "createFeedback",
  tags,
  summary: "Say what you think of a run",
  request: { body: body(FeedbackCreateRequest) },
  responses: {
    200: json(Feedback, "Kept; sent twice under one id it is there once"),
    403: json(ErrorDetail, "The caller's role does not allow this"),
    404: json(ErrorDetail, "There is no such run"),
    422: json(HTTPValidationError, "A field is wrong"),
  },
});
feedbackRoutes.openapi(create, async (c) =>
  c.json(await createFeedback(c.var.ctx, c.req.valid("json")), 200),
);

const list = createRoute({
  method: "get",
  path: "/api/v1/feedback",
  operationId: "listFeedback",
  tags,
  summary: "List feedback of runs or projects, newest first",
  request: { query: FeedbackQuery },
  responses: {
    200: json(z.array(Feedback), "One page"),
    422: json(HTTPValidationError, "A field is wrong"),
  },
});
feedbackRoutes.openapi(list, async (c) =>
  c.json(await listFeedback(c.var.ctx, c.req.valid("query")), 200),
);
