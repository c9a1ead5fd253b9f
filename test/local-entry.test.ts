import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, expect, test } from "vitest";
import entry from "../scripts/local/entries/index.ts";
import { runIsolatesElsewhere } from "../src/control-plane/deployments/isolate/isolate.ts";
import { assertAnonymousRate } from "../src/shared/http/rate-limit.ts";

const ALLOWED = 6000;

// Test files share modules, and the entry has set where isolates run.
afterAll(() => runIsolatesElsewhere(null));

async function statusOf(headers: Record<string, string>): Promise<number> {
  const request = new Request(`https://x/uploads/${crypto.randomUUID()}`, {
    method: "PUT",
    headers,
    body: "x",
  });
  const response = await entry.fetch(request as never, env, createExecutionContext());
  await response.body?.cancel();
  return response.status;
}

test("on one machine, requests without CF-Connecting-IP share the limit of loopback", async () => {
  for (let n = 0; n < ALLOWED; n++) {
    assertAnonymousRate(new Headers({ "CF-Connecting-IP": "127.0.0.1" }));
  }
  expect(await statusOf({})).toBe(429);
  expect(await statusOf({ "CF-Connecting-IP": "" })).toBe(429);
  expect(await statusOf({ "CF-Connecting-IP": "192.0.2.77" })).not.toBe(429);
});
