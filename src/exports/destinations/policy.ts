import type { DestinationConfig } from "../destination-schema.ts";
import { baseOf } from "./base.ts";

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
