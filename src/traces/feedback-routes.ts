import { createRoute, z } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { body, ErrorDetail, HTTPValidationError, json } from "../shared/schema.ts";
import {
  Feedback,
  FeedbackCreateRequest,
  FeedbackQuery,
  FeedbackUpdateRequest,
} from "./feedback-schema.ts";
import {
  createFeedback,
  deleteFeedback,
  getFeedback,
  listFeedback,
  updateFeedback,
} from "./feedback-service.ts";

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
    404: json(ErrorDetail, "There is no such project"),
    422: json(HTTPValidationError, "A field is wrong"),
  },
});
feedbackRoutes.openapi(list, async (c) =>
  c.json(await listFeedback(c.var.ctx, c.req.valid("query")), 200),
);

const FeedbackId = z.object({ feedback_id: z.guid("must be a UUID").toLowerCase() });
const missing = { 404: json(ErrorDetail, "There is no such feedback") };
const forbidden = { 403: json(ErrorDetail, "The caller's role does not allow this") };
const wrong = { 422: json(HTTPValidationError, "A field is wrong") };

const get = createRoute({
  method: "get",
  path: "/api/v1/feedback/{feedback_id}",
  operationId: "getFeedback",
  tags,
  summary: "Get feedback",
  request: { params: FeedbackId },
  responses: { 200: json(Feedback, "The feedback"), ...missing, ...wrong },
});
feedbackRoutes.openapi(get, async (c) =>
  c.json(await getFeedback(c.var.ctx, c.req.valid("param").feedback_id), 200),
);

const update = createRoute({
  method: "patch",
  path: "/api/v1/feedback/{feedback_id}",
  operationId: "updateFeedback",
  tags,
  summary: "Change feedback",
  request: { params: FeedbackId, body: body(FeedbackUpdateRequest) },
  responses: { 200: json(Feedback, "Changed"), ...forbidden, ...missing, ...wrong },
});
feedbackRoutes.openapi(update, async (c) =>
  c.json(
    await updateFeedback(c.var.ctx, c.req.valid("param").feedback_id, c.req.valid("json")),
    200,
  ),
);

const remove = createRoute({
  method: "delete",
  path: "/api/v1/feedback/{feedback_id}",
  operationId: "deleteFeedback",
  tags,
  summary: "Take feedback back",
  request: { params: FeedbackId },
  responses: {
    200: json(z.object({ message: z.string() }), "It is gone"),
    ...forbidden,
    ...missing,
    ...wrong,
  },
});
feedbackRoutes.openapi(remove, async (c) =>
  c.json(await deleteFeedback(c.var.ctx, c.req.valid("param").feedback_id), 200),
);
