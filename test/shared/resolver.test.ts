import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, inject, test } from "vitest";
import { isPublicAddress } from "../../src/shared/egress/addresses.ts";
import { Egress } from "../../src/shared/egress/agent-egress.ts";
import { safeFetch } from "../../src/shared/egress/egress.ts";
import { addressesOf, refusalOfName } from "../../src/shared/egress/resolver.ts";

const LIMITS = { timeout_ms: 1000, max_bytes: 1000 };
const dns_url = inject("dns_url");
const policy = { allow_private: false, dns_url };

test.each([
  ["8.8.8.8", true],
  ["2606:4700::1111", true],
  ["10.0.0.1", false],
  ["169.254.169.254", false],
  ["::1", false],
  ["::ffff:10.0.0.1", false],
  ["fd00::1", false],
  ["no address", false],
  ["example.com", false],
  ["8.8.8.8]/@[::1", false],
])("a record of %s is public: %s", (data, isPublic) => {
  expect(isPublicAddress(data)).toBe(isPublic);
});

test("the addresses of an answer are those of all its records, aliases aside", () => {
  const Answer = [
    { type: 5, data: "alias.example.com." },
    { type: 1, data: "8.8.8.8" },
    { type: 28, data: "::1" },
  ];
  expect(addressesOf({ Answer })).toEqual(["8.8.8.8", "::1"]);
});

/** Names that the resolver of the machine may know, whatever the public one answers. */
const REFUSED: [name: string, code: string, text: RegExp][] = [
  ["private.example.com", "invalid_request", /resolves to 10.0.0.1, which is not a public/],
  ["mixed.example.com", "invalid_request", /resolves to ::1, which is not a public/],
  ["alias.example.com", "invalid_request", /resolves to 192.168.0.7/],
  ["dangling.example.com", "invalid_request", /has no public address/],
  ["empty.example.com", "invalid_request", /has no public address/],
  ["unknown.example.com", "unavailable", /does not resolve/],
  ["failing.example.com", "unavailable", /does not resolve/],
  ["half.example.com", "unavailable", /does not resolve/],
];

describe.each(REFUSED)("%s", (name, code, text) => {
  test("is refused to Heddle before anything is sent", async () => {
    const refused = safeFetch(policy, `https://${name}/`, {}, LIMITS);
    await expect(refused).rejects.toMatchObject({ code, message: expect.stringMatching(text) });
  });

  test("is refused to agents", async () => {
    const ctx = Object.assign(createExecutionContext(), { props: { deployment_id: "d" } });
    const egress = new Egress(ctx, { ...env, EGRESS_DNS_URL: dns_url });
    const response = await egress.fetch(new Request(`https://${name}/`));
    expect(response.status).toBe(code === "unavailable" ? 503 : 403);
    expect(await response.text()).toMatch(text);
  });
});

test("a name whose addresses are all public passes", async () => {
  expect(await refusalOfName(dns_url, "public.example.com")).toBeNull();
});

test("no name passes while the resolver is down", async () => {
  const down = { allow_private: false, dns_url: "http://127.0.0.1:9/" };
  const refused = safeFetch(down, "https://public.example.com/", {}, LIMITS);
  await expect(refused).rejects.toMatchObject({ code: "unavailable" });
});
