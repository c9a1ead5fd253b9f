import { z } from "@hono/zod-openapi";
import { router } from "../../shared/http/http.ts";
import {
  AnyUuid,
  body,
  ErrorDetail,
  json,
  operationWithTag,
  textField,
} from "../../shared/schema.ts";
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

const operation = operationWithTag("Feedback");

const create = operation("post", "/api/v1/feedback", "createFeedback", {
  summary: "Create feedback",
  description: "A score, a value or a comment with a key, on a run.",
  request: { body: body(FeedbackCreateRequest) },
  responses: {
    200: json(Feedback, "The feedback. Repeating the request with the same `id` stores it once"),
    404: json(ErrorDetail, "The run does not exist"),
  },
});
feedbackRoutes.openapi(create, async (c) =>
  c.json(await createFeedback(c.var.ctx, c.req.valid("json")), 200),
);

const list = operation("get", "/api/v1/feedback", "listFeedback", {
  summary: "List feedback",
  description: "Feedback of runs or of projects, newest first.",
  request: { query: FeedbackQuery },
  responses: {
    200: json(z.array(Feedback), "Page of results"),
    404: json(ErrorDetail, "The project does not exist"),
  },
});
feedbackRoutes.openapi(list, async (c) =>
  c.json(await listFeedback(c.var.ctx, c.req.valid("query")), 200),
);

const FeedbackId = z.object({
  feedback_id: AnyUuid.describe("Id of the feedback"),
});

const get = operation("get", "/api/v1/feedback/{feedback_id}", "getFeedback", {
  summary: "Get feedback",
  description: "Finds it by its id alone, in any project of the workspace.",
  request: { params: FeedbackId },
  responses: { 200: json(Feedback, "The feedback") },
});
feedbackRoutes.openapi(get, async (c) =>
  c.json(await getFeedback(c.var.ctx, c.req.valid("param").feedback_id), 200),
);

const update = operation("patch", "/api/v1/feedback/{feedback_id}", "updateFeedback", {
  summary: "Update feedback",
  description: "Changes the given fields.",
  request: { params: FeedbackId, body: body(FeedbackUpdateRequest) },
  responses: { 200: json(Feedback, "The updated resource") },
});
feedbackRoutes.openapi(update, async (c) =>
  c.json(
    await updateFeedback(c.var.ctx, c.req.valid("param").feedback_id, c.req.valid("json")),
    200,
  ),
);

const remove = operation("delete", "/api/v1/feedback/{feedback_id}", "deleteFeedback", {
  summary: "Delete feedback",
  description: "Other feedback of the run stays.",
  request: { params: FeedbackId },
  responses: {
    200: json(
      z.object({
        message: textField("Confirmation", "Feedback deleted"),
      }),
      "The feedback is deleted",
    ),
    409: json(ErrorDetail, "The project is on legal hold"),
  },
});
feedbackRoutes.openapi(remove, async (c) =>
  c.json(await deleteFeedback(c.var.ctx, c.req.valid("param").feedback_id), 200),
);
