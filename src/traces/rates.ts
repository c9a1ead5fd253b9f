import type { Context } from "../shared/context.ts";
import { assertRate } from "../shared/http/rate-limit.ts";

const LIMITS = {
  ingest: { calls: 5000, in_s: 60 },
  feedback: { calls: 5000, in_s: 60 },
  read: { calls: 2000, in_s: 60 },
  delete_project: { calls: 30, in_s: 60 },
};

/** Further limits of reads, where PUBLISHED_READ_LIMITS is "true". */
const PUBLISHED = {
  get_run: { calls: 30, in_s: 60 },
  query_week: { calls: 10, in_s: 10 },
  query_longer: { calls: 3, in_s: 10 },
};

export function assertTraceRate(
  ctx: Pick<Context, "caller">,
  name: keyof typeof LIMITS,
  now = Date.now(),
): void {
  assertRate(ctx, { name, ...LIMITS[name] }, now);
}

/** Counts a read of traces against the limit `read` and, where PUBLISHED_READ_LIMITS is on, against `name` too. */
export function assertReadRate(
  ctx: Pick<Context, "caller" | "env">,
  name: keyof typeof PUBLISHED,
): void {
  assertTraceRate(ctx, "read");
  if (ctx.env.PUBLISHED_READ_LIMITS === "true") assertRate(ctx, { name, ...PUBLISHED[name] });
}
