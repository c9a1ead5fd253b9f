import { expect, inject, test } from "vitest";
import { safeFetch } from "../../src/shared/egress.ts";
import { firstPrivate, privateAddressOf } from "../../src/shared/resolver.ts";

const LIMITS = { timeout_ms: 1000, max_bytes: 1000 };
const dns_url = inject("dns_url");
const policy = { allow_private: false, dns_url };

test.each([
  [[{ type: 1, data: "8.8.8.8" }], null],
  [[{ type: 1, data: "10.0.0.1" }], "10.0.0.1"],
  [
    [
      { type: 5, data: "alias.test." },
      { type: 1, data: "127.0.0.1" },
    ],
    "127.0.0.1",
  ],
  [
    [
      { type: 1, data: "8.8.8.8" },
      { type: 1, data: "169.254.169.254" },
    ],
    "169.254.169.254",
  ],
  [[{ type: 28, data: "2606:4700::1111" }], null],
  [[{ type: 28, data: "::1" }], "::1"],
  [[{ type: 28, data: "::ffff:10.0.0.1" }], "::ffff:10.0.0.1"],
  [[{ type: 28, data: "fd00::1" }], "fd00::1"],
  [[{ type: 28, data: "no address" }], "no address"],
  [[], null],
])("of the records %j the private address is %s", (records, address) => {
  expect(firstPrivate(records)).toBe(address);
});

test("a name that leads to a private address is refused before anything is sent", async () => {
  for (const name of ["private.test", "mixed.test"]) {
    const refused = safeFetch(policy, `https://${name}/`, {}, LIMITS);
    await expect(refused).rejects.toMatchObject({ code: "invalid_request" });
    await expect(refused).rejects.toThrow(/leads to .*, which is not a public address/);
  }
});

test("a name that leads to public addresses alone passes", async () => {
  expect(await privateAddressOf(dns_url, "public.test")).toBeNull();
});

test("a resolver that is down lets nothing through", async () => {
  const down = { allow_private: false, dns_url: "http://127.0.0.1:9/" };
  const refused = safeFetch(down, "https://public.test/", {}, LIMITS);
  await expect(refused).rejects.toMatchObject({ code: "unavailable" });
});
