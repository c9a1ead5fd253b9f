import { z } from "@hono/zod-openapi";
import { namedObject, Timestamp } from "../../shared/schema.ts";

export const METERS = [
  "runs_created",
  "run_seconds",
  "ingested_spans",
  "ingested_bytes",
  "export_rows",
  "export_bytes",
  "stored_bytes",
] as const;
export type Meter = (typeof METERS)[number];
/** Meter that counts work by day. Stored bytes are a current value, without a day. */
export type WorkMeter = Exclude<Meter, "stored_bytes">;
export const PERIODS = ["day", "month", "total"] as const;
export type QuotaPeriod = (typeof PERIODS)[number];
export type QuotaSetter = "operator" | "admin";

const fields = {
  meter: z.enum(METERS).describe("Field of `GET /v1/usage` that the quota limits"),
  period: z
    .enum(PERIODS)
    .describe("UTC day, calendar month in UTC, or `total` for what is stored at the time"),
  limit: z
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .openapi({ description: "Work is refused from this value on; 0 refuses all", example: 5000 }),
};

export const Quota = namedObject("Quota", {
  ...fields,
  set_by: z.enum(["operator", "admin"]).describe("Who set the quota, and may change it"),
  used: z
    .number()
    .openapi({ description: "Value of the meter in the period, or now", example: 1200 }),
  remaining: z.number().openapi({ description: "`limit` less `used`, at least 0", example: 3800 }),
  resets_at: Timestamp.nullable().describe("End of the period; `null` for a total"),
});
export type Quota = z.infer<typeof Quota>;

export const QuotaList = namedObject("QuotaList", {
  quotas: z.array(Quota).describe("Quotas of the operator and of the workspace's admins"),
});
export type QuotaList = z.infer<typeof QuotaList>;

export const QuotasChange = namedObject("QuotasChange", {
  quotas: z
    .array(namedObject("QuotaSetting", fields))
    .max(METERS.length * PERIODS.length)
    .superRefine(refuseRepeated)
    .superRefine(refuseOtherPeriods)
    .describe("All quotas of the workspace's admins, each meter and period once"),
});
export type QuotasChange = z.infer<typeof QuotasChange>;

function refuseRepeated(
  settings: { meter: Meter; period: QuotaPeriod }[],
  ctx: z.core.$RefinementCtx,
): void {
  const known = new Set<string>();
  for (const [n, { meter, period }] of settings.entries()) {
    const name = `${meter}/${period}`;
    const message = `must not repeat the quota of ${meter} for a ${period}`;
    if (known.has(name)) ctx.addIssue({ code: "custom", path: [n], message });
    known.add(name);
  }
}

function refuseOtherPeriods(
  settings: { meter: Meter; period: QuotaPeriod }[],
  ctx: z.core.$RefinementCtx,
): void {
  for (const [n, setting] of settings.entries()) {
    const message = periodProblem(setting);
    if (message !== null) ctx.addIssue({ code: "custom", path: [n, "period"], message });
  }
}

/** @returns why the meter has no such period, `null` when it has */
export function periodProblem({ meter, period }: { meter: Meter; period: QuotaPeriod }) {
  if ((meter === "stored_bytes") === (period === "total")) return null;
  return meter === "stored_bytes"
    ? "must be total: what is stored has no day and no month"
    : `must be day or month: ${meter} counts work`;
}
