import { expect, test } from "vitest";
import { parseFilter, withTexts } from "../../src/console/pages/threads/filter.ts";
import { tagsOf, titleOf } from "../../src/console/pages/threads/title.ts";

test("a filter of threads is read as it is typed", () => {
  const id = "019A2b3c-4d5e-7f60-8a1b-2c3d4e5f6071";
  expect(parseFilter(`user=u_1 n=5 name="a b" values.city=Bern ${id} -cron_id words`)).toEqual({
    filter: {
      ids: [id.toLowerCase()],
      metadata: { user: "u_1", n: 5, name: "a b" },
      without_metadata: ["cron_id"],
      values: { city: "Bern" },
    },
    unparsed: "words",
  });
  expect(parseFilter("")).toEqual({ filter: {}, unparsed: null });
});

test.each([
  [{ first: " Where is it? " }, "Where is it?"],
  [{ first: [{ type: "image" }, { type: "text", text: "Look" }] }, "Look"],
  [{ first: null, id: "INV-1" }, "INV-1"],
  [{}, "t-1"],
])("a thread with %j has the title %s", (extracted, title) => {
  expect(titleOf({ thread_id: "t-1", extracted })).toBe(title);
});

test("tags of a thread leave out what the service writes, and a cut one ends with dots", () => {
  const metadata = {
    graph_id: "g",
    assistant_id: "a",
    user: "u",
    n: 1,
    long: "x".repeat(999),
    z: 1,
  };
  const long = `long: ${"x".repeat(194)}…`;
  expect(tagsOf({ metadata })).toEqual(["user: u", "n: 1", long, "z: 1"]);
});

test.each([
  ["user_id=1042", 'user_id="1042"'],
  ["a=b paid=true values.n=null -c", 'a=b paid="true" values.n="null" -c'],
  ['user_id="1042"', null],
  ["a={} b=x c", null],
])("the filter %s is suggested with quoted values as %s", (text, quoted) => {
  expect(withTexts(text)).toBe(quoted);
});
