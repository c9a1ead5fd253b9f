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
