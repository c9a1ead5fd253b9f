import { expect, test } from "vitest";
import { FiringPool } from "../../../src/agent-server/crons/firing-pool.ts";
import { FIRINGS_AT_ONCE, IN_FLIGHT_BYTES } from "../../../src/agent-server/crons/limits.ts";

const nothingIsDue = () => false;

function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: () => resolve() };
}

const ids = (count: number) => Array.from({ length: count }, (_, n) => `cron ${n}`);

test("more slow firings than may start at once delay no other one", async () => {
  const pool = new FiringPool();
  const { opened, open } = gate();
  const ended: string[] = [];
  const slow = ids(FIRINGS_AT_ONCE + 5).map((cron_id) => ({
    ...{ cron_id: `slow ${cron_id}`, bytes: 0 },
    fire: () => opened,
  }));
  const quick = ids(5).map((cron_id) => ({
    ...{ cron_id, bytes: 0 },
    fire: async () => void ended.push(cron_id),
  }));
  await pool.start([...slow, ...quick]);
  expect(ended).toEqual(ids(5));
  await expect.poll(() => pool.cronIds().sort()).toEqual(slow.map((one) => one.cron_id).sort());
  await pool.settle(() => true);
  expect(pool.cronIds()).toHaveLength(slow.length);
  open();
  await pool.settle(nothingIsDue);
  expect(pool.cronIds()).toEqual([]);
});

test("a failed firing delays no other one, and fails the alarm at its end", async () => {
  const pool = new FiringPool();
  const ended: string[] = [];
  const fire = async () => void ended.push("ended");
  const fail = () => Promise.reject(new Error("no storage"));
  await pool.start([
    { cron_id: "a", bytes: 0, fire: fail },
    { cron_id: "b", bytes: 0, fire },
  ]);
  await expect(pool.settle(nothingIsDue)).rejects.toThrow("no storage");
  expect(ended).toEqual(["ended"]);
  await pool.start([{ cron_id: "a", bytes: 0, fire }]);
  await pool.settle(nothingIsDue);
  expect(ended).toHaveLength(2);
});

test("payloads under way are bounded, and a larger one starts alone", async () => {
  const pool = new FiringPool();
  let most = 0;
  const fire = async () => {
    most = Math.max(most, pool.cronIds().length);
    await scheduler.wait(1);
  };
  const quarter = IN_FLIGHT_BYTES / 4;
  await pool.start(ids(20).map((cron_id) => ({ cron_id, bytes: quarter, fire })));
  await pool.settle(nothingIsDue);
  expect(most).toBe(3);
  const large = { cron_id: "large", bytes: IN_FLIGHT_BYTES * 2, fire };
  await pool.start([large, { cron_id: "small", bytes: 1, fire }]);
  await pool.settle(nothingIsDue);
  expect(most).toBe(3);
});
