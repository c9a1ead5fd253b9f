import { expect, test } from "vitest";
import { clientOf } from "../../src/shared/http/rate-limit.ts";

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:DB8:1:2::", "2001:db8:1:2"],
  ["2001:db8::1", "2001:db8:0:0"],
  ["::ffff:203.0.113.7", "[::ffff:cb00:7107]"],
  ["::1", "[::1]"],
  ["no address", "no address"],
  ["", null],
])("the network of %j is %j", (address, network) => {
  expect(clientOf(new Headers({ "CF-Connecting-IP": address }))).toBe(network);
});

test("a request without an address is of no network", () => {
  expect(clientOf(new Headers())).toBeNull();
});
