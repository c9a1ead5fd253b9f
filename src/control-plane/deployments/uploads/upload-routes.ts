import { originOf, router } from "../../../shared/http/http.ts";
import { ErrorDetail, json, operationWithTag } from "../../../shared/schema.ts";
import { DeploymentPath } from "../schema.ts";
import { UploadPath, UploadQuery, UploadResult, UploadUrl } from "./upload-schema.ts";
import { createUploadUrl, receiveUpload, refusePushToken } from "./upload-service.ts";

export const uploadRoutes = router();

const operation = operationWithTag("Deployments");

const create = operation("post", "/v2/deployments/{deployment_id}/upload-url", "createUploadUrl", {
  summary: "Create an upload URL",
  description:
    "For deployments with the source `internal_source`. The URL is valid for one upload.",
  request: { params: DeploymentPath },
  responses: {
    200: json(UploadUrl, "URL for the tarball"),
    400: json(ErrorDetail, "The source of the deployment is not `internal_source`"),
    409: json(ErrorDetail, "The deployment is being deleted"),
  },
});
uploadRoutes.openapi(create, async (c) => {
  const { deployment_id } = c.req.valid("param");
  return c.json(await createUploadUrl(c.var.ctx, deployment_id, originOf(c.req.url)), 200);
});

const receive = operation(
  "put",
  "/uploads/{workspace_id}/{deployment_id}/{upload_id}",
  "receiveUpload",
  {
    summary: "Upload a source tarball",
    description: "Needs no API key: the signature of the URL is the credential.",
    security: [],
    request: {
      params: UploadPath,
      query: UploadQuery,
      body: {
        content: {
          "application/gzip": { schema: { type: "string", format: "binary" }, example: "..." },
        },
      },
    },
    responses: {
      200: json(UploadResult, "Stored"),
      400: json(ErrorDetail, "Missing `Content-Length`"),
      402: json(
        ErrorDetail,
        "The workspace has too many bytes of uploads that no revision uses, or its quota of storage is used up",
      ),
      403: json(ErrorDetail, "Invalid or expired signature"),
      404: json(ErrorDetail, "The deployment does not exist"),
      409: json(ErrorDetail, "The URL was used before"),
      413: json(ErrorDetail, "The tarball is too large"),
    },
  },
);
uploadRoutes.openapi(receive, async (c) => {
  const { expires, key: key_id, signature } = c.req.valid("query");
  const upload = { ...c.req.valid("param"), expires };
  const received = receiveUpload(c.env, upload, { key_id, signature }, c.req.raw);
  // A client that disconnects ends the request. The upload still runs to its end, which corrects the counted bytes.
  c.executionCtx.waitUntil(received.catch(() => {}));
  return c.json(await received, 200);
});

const push = operation("post", "/v2/deployments/{deployment_id}/push-token", "createPushToken", {
  summary: "Create a push token",
  description: "Always refused: Heddle has no image registry.",
  request: { params: DeploymentPath },
  responses: {
    400: json(ErrorDetail, "Heddle has no image registry"),
  },
});
uploadRoutes.openapi(push, (c) => refusePushToken(c.var.ctx, c.req.valid("param").deployment_id));
