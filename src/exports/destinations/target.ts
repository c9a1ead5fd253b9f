import type { DestinationCredentials } from "../credentials-schema.ts";
import type { DestinationConfig } from "../destination-schema.ts";
import { toPutHeaders } from "../s3/put-arguments.ts";
import type { S3Target } from "../s3/signing.ts";

export function toTarget(
  config: DestinationConfig,
  credentials: DestinationCredentials,
  addressing_style: S3Target["addressing_style"],
): S3Target {
  const { session_token, ...keys } = credentials;
  return {
    endpoint_url: config.endpoint_url ?? awsEndpoint(config),
    region: config.region,
    bucket_name: config.bucket_name,
    addressing_style,
    put_headers: toPutHeaders(config.s3_additional_kwargs ?? {}).headers,
    checksums: true,
    payload_signing: config.config_kwargs_s3?.payload_signing_enabled ?? false,
    credentials: { ...keys, ...(session_token == null ? {} : { session_token }) },
  };
}

/** Returns the endpoint of AWS that the options select, `null` for that of the region. */
function awsEndpoint({ region, config_kwargs_s3 }: DestinationConfig): string | null {
  if (config_kwargs_s3?.use_accelerate_endpoint === true) {
    return "https://s3-accelerate.amazonaws.com";
  }
  const isLegacy = config_kwargs_s3?.us_east_1_regional_endpoint === "legacy";
  return isLegacy && (region ?? "us-east-1") === "us-east-1" ? "https://s3.amazonaws.com" : null;
}
