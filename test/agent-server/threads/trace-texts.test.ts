import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, test } from "vitest";
import { toTraceRows } from "../../../src/agent-server/threads/object/boundary/trace-texts.ts";
import { ThreadStore } from "../../../src/agent-server/threads/object/storage/store.ts";
import { charactersOf } from "../../../src/isolate/message-size.ts";
import type { TraceOp } from "../../../src/isolate/trace-contract.ts";
import { TextDeduplicator } from "../../../src/isolate/tracing/text-deduplicator.ts";
import { TraceJson } from "../../../src/isolate/tracing/trace-json.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { createLazyTables } from "../../support/thread-tables.ts";
import { testThread } from "../../support/threads.ts";

const message = (n: number) => ({ type: "human", content: `${n}: ${"what was said ".repeat(20)}` });
const talk = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => message(from + n));

/** Encodes long payloads like an isolate. */
function toOps(payloads: unknown[]): TraceOp[] {
  const [json, deduplicator] = [new TraceJson(), new TextDeduplicator()];
  return payloads.map((payload) => {
    const texts = { inputs: deduplicator.encode(json.cut(payload)) };
    return { op: "trace", kind: "post", id: newId(), open: null, data: "{}", texts };
  });
}

const inputsOf = (ops: TraceOp[]) => toTraceRows(ops).map(({ texts }) => texts.inputs);

test("whatever a batch has in common, each payload is read as it was", () => {
  const item = fc.oneof(fc.nat(3).map(message), fc.string(), fc.constant([]), fc.constant(null));
  const list = fc
    .tuple(fc.nat(40), fc.array(item, { maxLength: 4 }), fc.array(item, { maxLength: 4 }))
    .map(([count, before, after]) => [...before, ...talk(count), ...after]);
  const fields = fc.dictionary(
    fc.string({ maxLength: 5 }),
    fc.oneof(
      list,
      list.map((one) => [one]),
      item,
    ),
  );
  const payload = fc.oneof(fields, list, item);
  fc.assert(
    fc.property(fc.array(payload, { maxLength: 6 }), (payloads) => {
      expect(inputsOf(toOps(payloads))).toEqual(payloads.map((one) => JSON.stringify(one)));
    }),
  );
});

test.each([
  ["goes on", { messages: talk(101) }],
  ["stops before", { messages: talk(60) }],
  ["is given to a model", { messages: [talk(100)] }],
  [
    "has a prompt before it",
    { messages: [[{ type: "system", content: "Be kind." }, ...talk(100)]] },
  ],
])("a conversation that %s is sent once", (_, other) => {
  const payloads = [{ messages: talk(100) }, other];
  const ops = toOps(payloads);
  expect(ops.map(charactersOf)[1]).toBeLessThan(1000);
  expect(inputsOf(ops)).toEqual(payloads.map((one) => JSON.stringify(one)));
});

test("a text that differs in the middle is sent from there on", () => {
  const changed = talk(100).with(50, message(1000));
  const ops = toOps([{ messages: talk(100) }, { messages: changed }]);
  expect(inputsOf(ops)[1]).toBe(JSON.stringify({ messages: changed }));
});

test("a text that many rows have stays until the last of them is delivered", async () => {
  const { place, create, join } = await testThread();
  const { run_id } = await create("echo", { input: { messages: [] } });
  await join(run_id);
  const payloads = Array.from({ length: 450 }, (_, n) => ({ messages: talk(100), n }));
  const stub = env.THREADS.getByName(`${place.deployment_id}/${place.thread_id}`);
  await runInDurableObject(stub, (_thread, { storage }) => {
    createLazyTables(storage.sql);
    const { traces } = new ThreadStore(storage);
    const kept = () =>
      storage.sql
        .exec<{ bytes: number }>(
          `SELECT (SELECT coalesce(sum(length(data)), 0) FROM parts WHERE name LIKE 'trace %')
             + (SELECT coalesce(sum(length(ops)), 0) FROM trace_outbox) AS bytes`,
        )
        .one().bytes;
    const before = traces.page();
    traces.remove(before);
    traces.append(run_id, toOps(payloads));
    const rows = storage.sql.exec("SELECT 1 FROM trace_outbox").toArray().length;
    const [first] = payloads.map((one) => JSON.stringify(one).length);
    expect(kept()).toBeLessThan(rows * 1.2 * (first ?? 0) + 200 * payloads.length);
    const read: (string | undefined)[] = [];
    for (let page = traces.page(); page.rows.length > 0; page = traces.page()) {
      expect(kept()).toBeGreaterThan(0);
      read.push(...page.rows.map(({ texts }) => texts.inputs));
      traces.remove(page);
    }
    expect(read).toEqual(payloads.map((one) => JSON.stringify(one)));
    expect(kept()).toBe(0);
  });
});
