import { expect, test } from "vitest";
import { filterProblem, matches } from "../../../src/agent-server/store/storage/filter.ts";

const item = {
  name: "Ada",
  age: 36,
  born: "1815-12-10",
  tags: ["a", "b"],
  address: { city: "London", geo: { lat: 51.5 } },
  nothing: null,
};

test.each([
  [{}, true],
  [{ name: "Ada" }, true],
  [{ name: "ada" }, false],
  [{ name: "Ada", age: 37 }, false],
  [{ missing: "x" }, false],
  [{ nothing: null }, true],
  [{ missing: null }, false],
  [{ tags: ["a", "b"] }, true],
  [{ tags: ["a"] }, false],
  [{ address: { city: "London" } }, true],
  [{ address: { city: "Paris" } }, false],
  [{ address: { geo: { lat: { $gt: 50 } } } }, true],
  [{ name: { first: "Ada" } }, false],
  [{ age: { $eq: 36 } }, true],
  [{ age: { $eq: "36" } }, false],
  [{ age: { $ne: 36 } }, false],
  [{ missing: { $ne: 1 } }, true],
  [{ age: { $gt: 36 } }, false],
  [{ age: { $gte: 36, $lt: 37 } }, true],
  [{ age: { $lte: 35 } }, false],
  [{ age: { $gt: "35" } }, true],
  [{ born: { $lt: "1816-01-01" } }, true],
  [{ born: { $gt: 1 } }, false],
  [{ missing: { $lt: 1 } }, false],
  [{ nothing: { $lte: 1 } }, false],
  [{ name: { $in: ["Bob", "Ada"] } }, true],
  [{ name: { $nin: ["Bob"] } }, true],
  [{ missing: { $in: [] } }, false],
  [{ constructor: { name: "Object" } }, false],
])("filter %j matches: %j", (filter, expected) => {
  expect(filterProblem(filter)).toBeNull();
  expect(matches(item, filter)).toBe(expected);
});

test.each([
  [{ age: { $near: 3 } }, 'filter.age: has no operator "$near"'],
  [{ age: { $gt: 3, plain: 1 } }, 'filter.age: has no operator "plain"'],
  [{ a: { b: { $in: 3 } } }, "filter.a.b.$in: must be a list"],
  [{ $or: [] }, 'filter: has no operator "$or"'],
])("filter %j is refused", (filter, text) => {
  expect(filterProblem(filter)?.message).toContain(text);
});
