import { type Column, isNull, lte, or, type SQL } from "drizzle-orm";

/**
 * Error of an attempt that has lost its lease of a row. Each attempt has a greater number, the fencing token. A write
 * names the number of its attempt, so it changes nothing once another attempt has claimed the row.
 */
export class LeaseLost extends Error {
  override name = "LeaseLost";

  constructor(resource: string, attempt: number) {
    super(`Attempt ${attempt} of ${resource} lost its lease`);
  }
}

/** Value of `lease_expires_at` for a lease that is claimed or renewed now. */
export function leaseUntil(now: Date, lease_ms: number): string {
  return new Date(now.getTime() + lease_ms).toISOString();
}

/** Matches rows that an attempt may claim, without a lease or with an expired one. */
export function isUnleased(lease_expires_at: Column, at: string): SQL | undefined {
  return or(isNull(lease_expires_at), lte(lease_expires_at, at));
}
