import type { Project } from "../../../../traces/projects/schema.ts";
import type { TtlSettings } from "../../../../traces/projects/ttl-settings-schema.ts";
import { apiPath } from "../../../api/path.ts";
import { formatCount } from "../../../ui/formats.ts";

export type Tier = NonNullable<Project["trace_tier"]>;

export const TIERS: Tier[] = ["shortlived", "longlived"];
export const TIER_LABELS: Record<Tier, string> = {
  shortlived: "Short-lived",
  longlived: "Long-lived",
};
export const TTL_SETTINGS = apiPath`/api/v1/ttl-settings`;

/** Returns the time for which traces of a tier are kept, such as "14 days". */
export function lifetimeOf({ shortlived_days, longlived_days }: TtlSettings, tier: Tier): string {
  const days = tier === "shortlived" ? shortlived_days : longlived_days;
  return days === null ? "for good" : formatCount(days, "day");
}
