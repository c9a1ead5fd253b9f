import type { DestinationConfig } from "../destination-schema.ts";

/** What stands before everything else in the keys of a destination: no empty part, and a slash at the end. */
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
