import { expect, test } from "vitest";
import { toFilters } from "../../src/isolate/agent/auth-filters.ts";

test("filters of an agent are objects of scalars and operators", () => {
  const filters = { owner: "anna", team: { $eq: 7 }, readers: { $contains: ["bob"] } };
  expect(toFilters(filters)).toEqual({
    owner: { eq: "anna" },
    team: { eq: 7 },
    readers: { contains: ["bob"] },
  });
});

test.each([
  ["a Map", new Map([["owner", "anna"]])],
  ["a date", new Date(0)],
  ["an instance of a class", new (class Filter {})()],
  ["a list", [{ owner: "anna" }]],
])("%s is refused as a filter: its entries would match everything", (_, result) => {
  expect(() => toFilters(result)).toThrow("a filter is an object");
  expect(() => toFilters({ owner: result })).toThrow('its filter "owner"');
});
