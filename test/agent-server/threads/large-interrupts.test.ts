import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { parseOutcome } from "../../../src/agent-server/threads/object/boundary/answers.ts";
import { threadObject } from "../../../src/agent-server/threads/object/stub.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { objectNameOf, testThread } from "../../support/threads.ts";

const MIB = 1024 * 1024;

type Waiting = { interrupts: Record<string, { value: string }[]> };

function lengthsOf(record: unknown): number[] {
  const { interrupts } = record as Waiting;
  return Object.values(interrupts).flatMap((list) => list.map(({ value }) => value.length));
}

test("an interrupt of some megabytes is whole in each answer, after a restart and in a copy", async () => {
  const thread = await testThread();
  const input = { n: 0, characters: 3 * MIB };
  const answer = await thread.wait("breaks_oddly", { input });
  expect(answer.__interrupt__[0].value).toHaveLength(3 * MIB);
  expect(lengthsOf(await thread.object.getThread())).toEqual([3 * MIB]);

  const { deployment_id, thread_id } = thread.place;
  const stub = env.THREADS.getByName(objectNameOf(deployment_id, thread_id));
  await runInDurableObject(stub, (_, state) => state.abort("crash")).catch(() => {});
  expect(lengthsOf(await thread.object.getThread())).toEqual([3 * MIB]);
  const copy = { ...thread.place, thread_id: newId() };
  const copied = threadObject(env, deployment_id, copy.thread_id);
  expect(lengthsOf(await copied.copyThread(thread_id, copy))).toEqual([3 * MIB]);

  const { n } = await thread.wait("breaks_oddly", { command: { resume: { n: 7 } } });
  expect(n).toBe(7);
  expect(lengthsOf(await thread.object.getThread())).toEqual([]);
});

test("interrupts of more objects and lists than a read may parse end their run", () => {
  const outcomeOf = (lists: number) => {
    const interrupts = JSON.stringify({ task: [{ value: new Array(lists).fill([]) }] });
    const summary = { values: "{}", next: ["ask"], interrupts };
    return { ops: [], failure: null, is_timeout: false, summary, traces: null };
  };
  expect(parseOutcome(outcomeOf(90_000)).summary?.next).toEqual(["ask"]);
  expect(() => parseOutcome(outcomeOf(100_000))).toThrow(/summary\.interrupts.*100000 objects/);
});

test("a list of threads refuses one whose interrupts do not fit it", async () => {
  const thread = await testThread();
  await thread.wait("breaks_oddly", { input: { n: 0, characters: 3 * MIB } });
  const read = (characters: number, containers: number) =>
    thread.object.getThreadWithin({ characters, containers }, 0);
  for (const refused of [await read(2 * MIB, 100), await read(4 * MIB, 2)])
    expect(refused).toEqual({ ok: false, refusal: "too_large" });
  expect(await read(4 * MIB, 100)).toMatchObject({ ok: true });
});
