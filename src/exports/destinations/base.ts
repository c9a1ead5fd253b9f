import type { DestinationConfig } from "../destination-schema.ts";

/** Returns the prefix of a destination's keys, without empty parts and with a trailing slash. */
export function baseOf({
  bucket_name,
  prefix,
  include_bucket_in_prefix,
}: Pick<DestinationConfig, "bucket_name" | "prefix" | "include_bucket_in_prefix">): string {
  const parts = [include_bucket_in_prefix ? bucket_name : "", ...prefix.split("/")];
  return parts
    .filter((part) => part !== "")
    .map((part) => `${part}/`)
    .join("");
}

/** Returns the policy of AWS that grants what exports use, below the prefix only. */
export function policyFor(config: DestinationConfig) {
  const bucket = `arn:aws:s3:::${config.bucket_name}`;
  return {
    Version: "2012-10-17",
    Statement: [
      {
        Effect: "Allow",
        Action: ["s3:PutObject", "s3:GetObject", "s3:DeleteObject", "s3:AbortMultipartUpload"],
        Resource: `${bucket}/${baseOf(config)}*`,
      },
      { Effect: "Allow", Action: "s3:ListBucketMultipartUploads", Resource: bucket },
    ],
  };
}
