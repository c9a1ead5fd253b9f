import { z } from "@hono/zod-openapi";
import { Uuid } from "../shared/schema.ts";

export const UploadUrl = z
  .object({
    upload_url: z.string().openapi({
      description:
        "PUT the .tar.gz here, once, within the hour; the URL is all the right it needs.",
    }),
    object_path: z.string().openapi({ description: "What to send as source_tarball_path." }),
  })
  .openapi("UploadUrl");
export type UploadUrl = z.infer<typeof UploadUrl>;

export const UploadPath = z.object({
  workspace_id: Uuid,
  deployment_id: Uuid,
  upload_id: Uuid,
});

export const UploadQuery = z.object({
  expires: z.coerce.number().int(),
  key: z.string(),
  signature: z.string(),
});

export const Uploaded = z
  .object({ object_path: z.string(), size_bytes: z.number().int() })
  .openapi("Uploaded");
export type Uploaded = z.infer<typeof Uploaded>;
