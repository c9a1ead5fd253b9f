import { expect, test } from "vitest";
import type { LoadedCheckpoint, StoredWrite } from "../../src/isolate/checkpoint-contract.ts";
import { Heads } from "../../src/isolate/checkpoints/heads.ts";
import { StateSizes } from "../../src/isolate/checkpoints/state-sizes.ts";

const KIB = 1024;

function writeOf(task: number, bytes = 1, idx = 0): StoredWrite {
  const data = new Uint8Array(bytes);
  return { task_id: `t${task}`, path: "", idx, channel: "c", type: "bytes", data };
}

function checkpointOf(ns: string, checkpoint_id = "1", parent_id: string | null = null) {
  const texts = { checkpoint: "{}", metadata: "{}" };
  return { ns, checkpoint_id, parent_id, ...texts, values: [], writes: [] } as LoadedCheckpoint;
}

const writesOf = (ns: string, writes: StoredWrite[], checkpoint_id = "1") =>
  ({ op: "writes", ns, checkpoint_id, writes }) as const;

test("the newest checkpoint has the writes of its tasks, the first of each place", () => {
  const heads = new Heads();
  heads.put(checkpointOf(""));
  heads.addWrites(writesOf("", [writeOf(1)]));
  heads.addWrites(writesOf("", [writeOf(2), writeOf(1, 5), writeOf(1, 3, -1)]));
  heads.addWrites(writesOf("", [writeOf(1, 4, -1)]));
  const sizes = heads.get("")?.writes.map(({ task_id, data }) => [task_id, data.length]);
  expect(sizes).toEqual([
    ["t1", 1],
    ["t2", 1],
    ["t1", 4],
  ]);
});

test("a checkpoint is not cached any more when its writes are large", () => {
  const heads = new Heads();
  heads.put(checkpointOf(""));
  for (let n = 0; n < 9; n++) heads.addWrites(writesOf("", [writeOf(n, 100 * KIB)]));
  expect(heads.get("")?.writes).toHaveLength(9);
  for (let n = 9; n < 12; n++) heads.addWrites(writesOf("", [writeOf(n, 100 * KIB)]));
  expect([heads.get(""), heads.has("")]).toEqual([undefined, true]);
  heads.put(checkpointOf("", "2", "1"));
  expect(heads.get("")).toBeUndefined();
});

test("writes that precede their checkpoint are part of it, unless they are large", () => {
  const heads = new Heads();
  heads.addWrites(writesOf("small", [writeOf(1)]));
  heads.put(checkpointOf("small"));
  expect(heads.get("small")?.writes).toHaveLength(1);
  heads.addWrites(writesOf("large", [writeOf(1, 1100 * KIB)]));
  heads.put(checkpointOf("large"));
  expect([heads.get("large"), heads.has("large")]).toEqual([undefined, true]);
});

test("all namespaces share a limit, which writes count for", () => {
  const heads = new Heads();
  const names = Array.from({ length: 8 }, (_, n) => `ns${n}`);
  for (const ns of names) {
    heads.put(checkpointOf(ns));
    heads.addWrites(writesOf(ns, [writeOf(1, 900 * KIB)]));
  }
  const cached = names.filter((ns) => heads.get(ns) !== undefined);
  expect(cached).toEqual(names.slice(-4));
});

test("any namespace may have a checkpoint once too many are not in the cache", () => {
  const heads = new Heads();
  for (let n = 0; n < 10_000; n++) heads.put(checkpointOf(`call:${n}`));
  expect(heads.has("another")).toBe(false);
  for (let n = 10_000; n < 30_000; n++) heads.put(checkpointOf(`call:${n}`));
  expect([heads.has("another"), heads.get("call:0")]).toEqual([true, undefined]);
  heads.put(checkpointOf("call:0", "2", "1"));
  expect(heads.get("call:0")).toBeUndefined();
  expect(heads.get("call:29999")).toMatchObject({ checkpoint_id: "1" });
});

test("sizes of subgraphs that are over are dropped, those of the root and around them stay", () => {
  const sizes = new StateSizes();
  const value = { channel: "log", version: 1, type: "bytes", data: new Uint8Array(600) };
  sizes.grow("", { log: 1 }, [value]);
  sizes.grow("outer:0", { log: 1 }, [value]);
  for (let n = 0; n < 30_000; n++) sizes.grow(`call:${n}`, { log: 1 }, [value]);
  sizes.grow("outer:1", { log: 1 }, [value]);
  for (let n = 0; n < 30_000; n++) sizes.grow(`outer:1|call:${n}`, { log: 1 }, [value]);
  const more = { ...value, channel: "more" };
  expect(() => sizes.grow("", { log: 1, more: 1 }, [more], 1000)).toThrow("1200 bytes");
  expect(() => sizes.grow("outer:1", { log: 1, more: 1 }, [more], 1000)).toThrow("1200 bytes");
  sizes.grow("outer:0", { log: 1, more: 1 }, [more], 1000);
  const last = "outer:1|call:29999";
  expect(() => sizes.grow(last, { log: 1, more: 1 }, [more], 1000)).toThrow("1200 bytes");
  sizes.grow("call:0", { log: 1, more: 1 }, [more], 1000);
});
