import { z } from "@hono/zod-openapi";
import { namedObject, textField, Uuid } from "../../../shared/schema.ts";

/** Example with the ids of the workspace, the deployment and the upload. */
const OBJECT_PATH =
  "uploads/019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071/019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6072/019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6073.tar.gz";

export const UploadUrl = namedObject("UploadUrl", {
  upload_url: textField(
    "URL to `PUT` the `.tar.gz` to, once, within one hour. Needs no API key",
    "https://heddle.example.com/uploads/...",
  ),
  object_path: textField("Value for `source_tarball_path`", OBJECT_PATH),
});
export type UploadUrl = z.infer<typeof UploadUrl>;

export const UploadPath = z.object({
  workspace_id: Uuid.describe("Id of the workspace"),
  deployment_id: Uuid.describe("Id of the deployment"),
  upload_id: Uuid.describe("Id of the upload"),
});

export const UploadQuery = z.object({
  expires: z.coerce.number().int().describe("Unix time in seconds at which the URL expires"),
  key: z.string().describe("Id of the signing key"),
  signature: z.string().describe("Signature of the URL"),
});

export const UploadResult = namedObject("UploadResult", {
  object_path: textField("Value for `source_tarball_path`", OBJECT_PATH),
  size_bytes: z.number().int().describe("Size of the tarball"),
});
export type UploadResult = z.infer<typeof UploadResult>;
