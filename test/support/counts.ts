import { env } from "cloudflare:workers";
import { expect } from "vitest";
import counts from "../../scripts/simulate/counts.json";

type Values = Record<string, number>;

/** Allowed difference, relative to the count. */
const TOLERANCE = 0.1;

/**
 * Compares counts with those that the simulator reads, or replaces them: `npm run counts`. `slack` allows a larger
 * difference of a small count that depends on the clock.
 */
export async function expectCounts(operation: string, measured: Values, slack: Values = {}) {
  const rounded = Object.fromEntries(
    Object.entries(measured).map(([name, count]) => [name, Math.round(count * 1000) / 1000]),
  );
  if (env.UPDATE_COUNTS === "1") {
    const body = JSON.stringify({ [operation]: rounded });
    await env.COUNTS.fetch("http://counts.internal/", { method: "PUT", body });
    return;
  }
  const expected: Values = Reflect.get(counts, operation) ?? {};
  expect(Object.keys(expected).sort()).toEqual(Object.keys(rounded).sort());
  const differences = Object.entries(rounded).filter(([name, count]) => {
    const before = expected[name] ?? 0;
    return Math.abs(count - before) > Math.max(before * TOLERANCE, slack[name] ?? 0);
  });
  const message = `${operation} differs from scripts/simulate/counts.json: npm run counts updates it`;
  expect(differences, message).toEqual([]);
}
