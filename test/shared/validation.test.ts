import { z } from "@hono/zod-openapi";
import { expect, test } from "vitest";
import { Uuid } from "../../src/shared/schema.ts";
import { toIssues } from "../../src/shared/validation.ts";

const Mode = z.enum(["values", "updates"]);
const Body = z.object({
  name: z.string().min(1).max(3).optional(),
  source: Mode.default("values"),
  kind: z.literal("k8s").optional(),
  modes: z.union([Mode, z.array(Mode)]).optional(),
  input: z.union([z.string(), z.record(z.string(), z.number())]).optional(),
  limit: z.coerce.number().int().min(1).max(9).optional(),
  ids: z.array(Uuid).min(1).max(2).optional(),
  flag: z.boolean().nullish(),
  at: z.iso.datetime({ offset: true }).optional(),
  code: z.string().regex(/^a+$/).optional(),
});

test.each<[object, string, string]>([
  [{ name: 1 }, "name: must be a string", "string_type"],
  [{ name: null }, "name: must be a string", "string_type"],
  [{ name: "" }, "name: must have at least 1 character", "string_too_short"],
  [{ name: "abcd" }, "name: must have at most 3 characters", "string_too_long"],
  [{ source: "x" }, "source: must be one of values, updates", "enum"],
  [{ kind: "x" }, "kind: must be k8s", "literal_error"],
  [{ modes: "x" }, "modes: must be one of values, updates, or a list", "value_error"],
  [{ modes: ["x"] }, "modes: 0: must be one of values, updates", "value_error"],
  [{ input: 1 }, "input: must be a string, or an object", "value_error"],
  [{ input: { a: "b" } }, "input: a: must be a number", "value_error"],
  [{ limit: "abc" }, "limit: must be a number", "float_type"],
  [{ limit: 1.5 }, "limit: must be an integer", "int_type"],
  [{ limit: 0 }, "limit: must be at least 1", "greater_than_equal"],
  [{ limit: 10 }, "limit: must be at most 9", "less_than_equal"],
  [{ ids: "x" }, "ids: must be a list", "list_type"],
  [{ ids: [] }, "ids: must have at least 1 item", "too_short"],
  [{ ids: ["x"] }, "ids.0: must be a UUID", "uuid_parsing"],
  [{ flag: "yes" }, "flag: must be true or false", "bool_type"],
  [{ at: "today" }, "at: must be an ISO 8601 time with a zone", "datetime_parsing"],
  [{ code: "b" }, "code: must be a value of the documented pattern", "string_pattern_mismatch"],
])("%j is refused with a text and a code", (value, text, type) => {
  const { error } = Body.safeParse(value);
  const [issue] = error ? toIssues(error, []) : [];
  expect(`${issue?.loc.join(".")}: ${issue?.msg}`).toBe(text);
  expect(issue?.type).toBe(type);
});

test.each([z.string(), Mode, z.union([z.string(), z.null()]), Uuid, z.array(z.string())])(
  "a missing field is required, whatever its type (%#)",
  (field) => {
    const { error } = z.object({ field }).safeParse({});
    const [issue] = error ? toIssues(error, ["body"]) : [];
    expect(issue).toEqual({
      loc: ["body", "field"],
      msg: expect.stringMatching(/^is required(: one of values, updates)?$/),
      type: "missing",
    });
  },
);

test("no text has a word of JavaScript or of the library", () => {
  const values = [undefined, null, Number.NaN, 1, "x", [], [1], {}, { a: 1 }, true];
  const fields = Object.keys(Body.shape);
  for (const value of values) {
    for (const field of fields) {
      const { error } = Body.safeParse({ [field]: value });
      for (const { msg } of error ? toIssues(error, []) : []) {
        expect(msg).not.toMatch(/undefined|NaN|Invalid|expected|received|record/);
      }
    }
  }
});
