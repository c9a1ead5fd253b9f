import type { DestinationConfig } from "../destination-schema.ts";
import { regionOf } from "../s3/addresses.ts";
import { partitionOf } from "../s3/partitions.ts";

/** Returns the prefix of a destination's keys, without empty parts. Ends with a slash unless it is empty. */
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

const GOOGLE = "storage.googleapis.com";

/** Returns the URL of a bucket as query engines name it. */
export function bucketUrl({
  endpoint_url,
  bucket_name,
}: Pick<DestinationConfig, "endpoint_url" | "bucket_name">): string {
  const isGoogle = endpoint_url !== null && URL.parse(endpoint_url)?.hostname === GOOGLE;
  return `${isGoogle ? "gs" : "s3"}://${bucket_name}`;
}

/** Returns the AWS policy that grants what exports use. S3 grants the list of uploads only for the whole bucket. */
export function policyFor(config: DestinationConfig) {
  const { name } = partitionOf(config.region ?? regionOf(config.endpoint_url));
  const bucket = `arn:${name}:s3:::${config.bucket_name}`;
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
