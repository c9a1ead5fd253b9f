/** Pages of the platform, read on this date. */
export const READ_ON = "2026-11-23";
const DOCS = "https://developers.cloudflare.com";

type Price = { usd: number; per: number; included: number; source: string };
type Limit = { value: number; source: string };

/** Workers Paid. `included` is for a month and an account; `per` is the number of units that `usd` buys. */
export const PRICES = {
  requests: price(0.3, 1e6, 10e6, "/workers/platform/pricing/"),
  cpu_ms: price(0.02, 1e6, 30e6, "/workers/platform/pricing/"),
  dynamic_requests: price(0.3, 1e6, 10e6, "/dynamic-workers/pricing/"),
  dynamic_workers: price(0.002, 1, 1000, "/dynamic-workers/pricing/"),
  object_requests: price(0.15, 1e6, 1e6, "/durable-objects/platform/pricing/"),
  object_gb_s: price(12.5, 1e6, 400_000, "/durable-objects/platform/pricing/"),
  object_rows_written: price(1, 1e6, 50e6, "/durable-objects/platform/pricing/"),
  object_gb: price(0.2, 1, 5, "/durable-objects/platform/pricing/"),
  d1_rows_written: price(1, 1e6, 50e6, "/d1/platform/pricing/"),
} satisfies Record<string, Price>;
export const SUBSCRIPTION_USD = 5;

export type Resource = keyof typeof PRICES;

export const LIMITS = {
  /** A database runs queries one at a time: 1,000 a second when each takes 1 ms. */
  d1_statements_per_s: limit(1000, "/d1/platform/limits/"),
  /** Soft limit. */
  object_requests_per_s: limit(1000, "/durable-objects/platform/limits/"),
  /** An object is single-threaded. */
  object_cpu_s_per_s: limit(1, "/durable-objects/platform/limits/"),
  object_bytes: limit(10e9, "/durable-objects/platform/limits/"),
  subrequests: limit(10_000, "/workers/platform/limits/"),
} satisfies Record<string, Limit>;

/** Memory that an object is billed for while it is awake. */
export const OBJECT_GB = 0.128;

function price(usd: number, per: number, included: number, path: string): Price {
  return { usd, per, included, source: DOCS + path };
}

function limit(value: number, path: string): Limit {
  return { value, source: DOCS + path };
}
