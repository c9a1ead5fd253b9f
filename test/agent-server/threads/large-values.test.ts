import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, test } from "vitest";
import { CarriedTraces } from "../../../src/agent-server/threads/object/log/carried-traces.ts";
import { EventBatches } from "../../../src/agent-server/threads/object/log/event-batches.ts";
import { largeValues } from "../../../src/agent-server/threads/object/log/large-values.ts";
import { threadTables } from "../../../src/agent-server/threads/object/log/lazy-tables.ts";
import { Parts } from "../../../src/agent-server/threads/object/log/parts.ts";

const valuesOf = (text: string, min: number) =>
  largeValues(text, min).map(({ path, start, end }) => [path, text.slice(start, end)]);

test("large fields of objects are found, and a list as one value", () => {
  const data = { n: 1, picture: "x".repeat(20), inner: { list: ["[", '"]', 12345678] }, s: '"\\' };
  expect(valuesOf(JSON.stringify(data), 15)).toEqual([
    ['/"picture"', JSON.stringify(data.picture)],
    ['/"inner"/"list"', JSON.stringify(data.inner.list)],
  ]);
});

test("an object without large fields is one value", () => {
  expect(valuesOf('{"a": {"b": 1, "c": 2}, "d":"e"}', 10)).toEqual([['/"a"', '{"b": 1, "c": 2}']]);
});

test("values of any JSON are JSON, in order and apart", () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(20), (text, min) => {
      let last = 0;
      for (const { start, end } of largeValues(text, min)) {
        expect(start).toBeGreaterThanOrEqual(last);
        JSON.parse(text.slice(start, end));
        last = end;
      }
    }),
  );
});

test("a text that is cut has none", () => {
  const text = JSON.stringify({ a: "x".repeat(20), b: ["y".repeat(20)] });
  for (let at = 0; at < text.length; at++) expect(largeValues(text.slice(0, at), 10)).toEqual([]);
});

test("a thread remembers the values of few places, and stores those of others whole again", async () => {
  const stub = env.THREADS.getByName(crypto.randomUUID());
  await runInDurableObject(stub, (_, { storage }) => {
    const tables = threadTables(storage.sql);
    const batches = new EventBatches(tables, new Parts(tables), new CarriedTraces(storage.sql));
    const data = JSON.stringify({ log: "x".repeat(40_000) });
    const share = (event: string) => batches.share([{ event, data }]).characters;
    expect(share("values")).toBeGreaterThan(40_000);
    expect(share("values")).toBeLessThan(20_000);
    for (let n = 0; n < 11; n++) share(`values|${n}${"n".repeat(100_000)}`);
    expect(share("values")).toBeGreaterThan(40_000);
  });
});

test("a value that shrinks leaves none of its parts", async () => {
  const stub = env.THREADS.getByName(crypto.randomUUID());
  await runInDurableObject(stub, (_, { storage }) => {
    const parts = new Parts(threadTables(storage.sql));
    const large = "x".repeat(1024 * 1024 + 1);
    expect(parts.replace("values", large)).toBeNull();
    expect(parts.text("values", null)).toBe(large);
    expect(parts.replace("values", "small")).toBe("small");
    expect(parts.sizeOf("values")).toBe(0);
  });
});
