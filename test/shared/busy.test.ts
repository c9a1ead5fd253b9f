import { expect, test } from "vitest";
import { isBusy } from "../../src/shared/egress/busy.ts";

test.each<[number, Record<string, string>, boolean]>([
  [503, {}, true],
  [429, {}, true],
  [403, { "x-ratelimit-remaining": "0" }, true],
  // GitHub's second limit of requests.
  [403, { "x-ratelimit-remaining": "40", "retry-after": "60" }, true],
  [403, { "x-ratelimit-remaining": "40" }, false],
  [404, { "retry-after": "60" }, false],
])("a host that answers %i with %j is busy: %j", (status, headers, expected) => {
  expect(isBusy(new Response(null, { status, headers }))).toBe(expected);
});
