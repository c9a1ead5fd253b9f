import { describe, expect, test } from "vitest";
import {
  MAX_WAITING_READS,
  READ_BURST_MS,
  READ_BYTES_PER_SECOND,
} from "../../../src/agent-server/threads/object/boundary/limits.ts";
import { ReadPace } from "../../../src/agent-server/threads/object/boundary/read-pace.ts";
import type { LoadedCheckpoint } from "../../../src/isolate/checkpoint-contract.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { eventually } from "../../support/eventually.ts";

const PAGE_BYTES = 24 * 1024 * 1024;
const data = new Uint8Array(PAGE_BYTES);
const page = [{ values: [{ data }], writes: [] }] as unknown as LoadedCheckpoint[];
const seconds = (since_ms: number) => (Date.now() - since_ms) / 1000;

describe("checkpoints that agents read", () => {
  test("are sent at the rate of their workspace, over all of its calls", async () => {
    const [workspace_id, started] = [newId(), Date.now()];
    let pages = 0;
    const read = () => {
      pages += 1;
      const most = READ_BYTES_PER_SECOND * (seconds(started) + READ_BURST_MS / 1000) + PAGE_BYTES;
      expect(pages * PAGE_BYTES).toBeLessThanOrEqual(most);
      return page;
    };
    const calls = Array.from({ length: 4 }, () => new ReadPace());
    await Promise.all(calls.flatMap((pace) => [1, 2].map(() => pace.read(workspace_id, read))));
    expect(pages).toBe(8);
  });

  test("of one workspace do not delay those of another", async () => {
    const [busy, other] = [new ReadPace(), new ReadPace()];
    const workspace_id = newId();
    let waiting = 0;
    for (let n = 0; n < 20; n++) {
      waiting += 1;
      void busy.read(workspace_id, () => page).then(() => (waiting -= 1));
    }
    expect(await other.read(newId(), () => page)).toBe(page);
    expect(waiting).toBeGreaterThan(10);
  });

  test("wait until the isolate has those before, however long it takes", async () => {
    const pace = new ReadPace();
    const confirmations: (() => void)[] = [];
    pace.confirm = () => new Promise<void>((resolve) => confirmations.push(resolve));
    let sent = 0;
    const read = () => {
      sent += 1;
      return page;
    };
    const reads = Array.from({ length: 5 }, () => pace.read(newId(), read));
    for (const confirmed of [0, 1, 2, 3]) {
      await eventually(() => expect(confirmations).toHaveLength(confirmed + 1));
      await scheduler.wait(READ_BURST_MS);
      expect(sent).toBe(confirmed + 1);
      confirmations[confirmed]?.();
    }
    await Promise.all(reads);
    expect([sent, confirmations.length]).toEqual([5, 4]);
  });

  test("are refused when too many wait, and read again later", async () => {
    const pace = new ReadPace();
    const workspace_id = newId();
    const reads = Array.from({ length: MAX_WAITING_READS }, () =>
      pace.read(workspace_id, () => null),
    );
    await expect(pace.read(workspace_id, () => null)).rejects.toMatchObject({
      code: "rate_limited",
    });
    await Promise.all(reads);
    expect(await pace.read(workspace_id, () => null)).toBeNull();
  });

  test("go on after a read that fails", async () => {
    const pace = new ReadPace();
    const fail = () => {
      throw new Error("no such checkpoint");
    };
    await expect(pace.read("w", fail)).rejects.toThrow("no such checkpoint");
    expect(await pace.read("w", () => null)).toBeNull();
  });
});
