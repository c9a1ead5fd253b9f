import type { Context } from "../../shared/context.ts";
import { egressPolicy } from "../../shared/egress/egress.ts";
import { notFound } from "../../shared/errors.ts";
import { systemContext } from "../access.ts";
import { type S3Client, type S3Options, s3Client } from "../s3/client.ts";
import type { ExportRow } from "../table.ts";
import { bucketUrl } from "./base.ts";
import { targetOf } from "./service.ts";

/** Client with the destination's current credentials. */
export type Bucket = { ctx: Context; client: S3Client; bucket_name: string; bucket_url: string };

export async function openBucket(
  env: Env,
  { workspace_id, bulk_export_destination_id }: ExportRow,
  options: Pick<S3Options, "signal" | "limits"> = {},
): Promise<Bucket> {
  const ctx = await systemContext(env, workspace_id);
  if (ctx === null) throw notFound("Workspace", workspace_id);
  const { target, bucket_name } = await targetOf(ctx, bulk_export_destination_id);
  const policy = egressPolicy(env, "exports");
  const client = s3Client(target, { policy, ...options });
  return { ctx, bucket_name, bucket_url: bucketUrl(target), client };
}
