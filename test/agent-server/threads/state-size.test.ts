import type { RunnableConfig } from "@langchain/core/runnables";
import { type Checkpoint, emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { expect, test } from "vitest";
import type { LoadedCheckpoint } from "../../../src/isolate/checkpoint-contract.ts";
import { HostSaver } from "../../../src/isolate/checkpoints/saver.ts";
import type { Host, Op } from "../../../src/isolate/contract.ts";
import { Outbox } from "../../../src/isolate/outbox.ts";

const MIB = 1024 * 1024;
const SMALL = 1000;
/** Above the limit of a state, below that of a value. */
const LARGE = 13 * MIB;

const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
const metadata = { source: "loop", step: 1, parents: {} } as const;

function checkpointOf(id: string, text: string, version: number): Checkpoint {
  return {
    ...emptyCheckpoint(),
    id,
    channel_values: { text },
    channel_versions: { text: version },
  };
}

function loadedOf(characters: number): LoadedCheckpoint {
  const { channel_values, ...checkpoint } = checkpointOf("1", "x".repeat(characters), 1);
  const data = new TextEncoder().encode(JSON.stringify(channel_values.text));
  return {
    ...{ ns: "", checkpoint_id: "1", parent_id: null, metadata: "{}", writes: [] },
    checkpoint: JSON.stringify(checkpoint),
    values: [{ channel: "text", version: 1, type: "json", data }],
  };
}

/** A saver of a thread with a state of so many characters. Counts how often the state is read again. */
function saverOf(characters: number) {
  const [ops, reads] = [[] as Op[], [] as string[]];
  const host = {
    commit: async (batch: Op[]) => void ops.push(...batch),
    readCheckpoint: async (ns: string) => {
      reads.push(ns);
      return loadedOf(characters);
    },
  } as unknown as Host;
  const outbox = new Outbox(host);
  const saver = new HostSaver({ host, outbox, thread_id: "t", head: loadedOf(characters) });
  return { saver, reads, outbox, ops };
}

async function textOf(saver: HostSaver): Promise<string> {
  const tuple = await saver.getTuple(config as RunnableConfig);
  return String(tuple?.checkpoint.channel_values.text);
}

function put(saver: HostSaver, characters: number) {
  const checkpoint = checkpointOf("2", "y".repeat(characters), 2);
  return saver.put(config as RunnableConfig, checkpoint, metadata, { text: 2 });
}

test("a run holds the bytes of a small state, and reads those of a large one again", async () => {
  const [small, large] = [saverOf(SMALL), saverOf(LARGE)];
  for (const { saver } of [small, large, small, large]) await textOf(saver);
  expect(small.reads).toHaveLength(0);
  expect(large.reads).toHaveLength(1);
});

test("a state over the limit is read, may shrink and may not grow", async () => {
  const { saver, outbox, ops } = saverOf(LARGE);
  expect(await textOf(saver)).toHaveLength(LARGE);
  await expect(put(saver, LARGE + 1)).rejects.toThrow(
    /^The state has 136314\d\d bytes, more than 10485760 \(10.0 MiB\), of which channel "[a-z_]+" has 136314\d\d. Remove values or messages/,
  );
  await put(saver, LARGE - MIB / 2);
  await outbox.flush();
  expect(ops.map(({ op }) => op)).toEqual(["checkpoint"]);
});

test("a state grows up to the limit", async () => {
  const { saver } = saverOf(SMALL);
  await textOf(saver);
  await put(saver, 10 * MIB - 2);
  const more = checkpointOf("3", "y".repeat(10 * MIB - 1), 3);
  const growing = saver.put(config as RunnableConfig, more, metadata, { text: 3 });
  await expect(growing).rejects.toMatchObject({ name: "StateLimitError" });
});
