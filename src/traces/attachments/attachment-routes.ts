import { z } from "@hono/zod-openapi";
import { router } from "../../shared/http/http.ts";
import { AnyUuid, ErrorDetail, json, operationWithTag } from "../../shared/schema.ts";
import { getAttachment, getAttachmentByUrl } from "./attachment-service.ts";

export const attachmentRoutes = router();
/** Without authentication: the signature in the URL is the credential. */
export const attachmentUrlRoutes = router();

const operation = operationWithTag("Trace runs");

/** Prevents browsers from rendering attachments as pages of this origin. */
const headersOf = (content_type: string) => ({
  "Content-Type": content_type,
  "Content-Disposition": "attachment",
  "Content-Security-Policy": "sandbox",
  "X-Content-Type-Options": "nosniff",
});

const file = {
  content: { "application/octet-stream": { schema: z.string(), example: "..." } },
  description: "The attachment, with its media type",
} as const;

const get = operation("get", "/api/v1/runs/{run_id}/attachments/{name}", "getAttachment", {
  summary: "Get an attachment",
  description: "Returns the bytes, with the media type that the client sent.",
  request: {
    params: z.object({
      run_id: AnyUuid.describe("Id of the run"),
      name: z.string().describe("Name of the attachment"),
    }),
  },
  responses: { 200: file },
});
attachmentRoutes.openapi(get, async (c) => {
  const { run_id, name } = c.req.valid("param");
  const { body, content_type } = await getAttachment(c.var.ctx, run_id, name);
  return c.body(body, 200, headersOf(content_type));
});

const getByUrl = operation("get", "/api/v1/attachments/{token}", "getAttachmentByUrl", {
  summary: "Get an attachment by its signed URL",
  description: "Needs no API key: the URL, from `s3_urls` of a run, is the credential for an hour.",
  security: [],
  request: {
    params: z.object({ token: z.string().max(4096).describe("Token of the signed URL") }),
  },
  responses: { 200: file, 403: json(ErrorDetail, "Invalid or expired URL") },
});
attachmentUrlRoutes.openapi(getByUrl, async (c) => {
  const { body, content_type } = await getAttachmentByUrl(c.env, c.req.valid("param").token);
  return c.body(body, 200, { ...headersOf(content_type), "Cache-Control": "no-store" });
});
