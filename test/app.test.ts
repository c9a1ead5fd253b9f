import { exports } from "cloudflare:workers";
import { expect, test } from "vitest";

test("/ok answers without a key", async () => {
  const response = await exports.default.fetch("https://heddle.test/ok");
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ ok: true });
});
