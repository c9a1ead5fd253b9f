import { beforeAll, describe, expect, test } from "vitest";
import { client, lines } from "./support/clients.ts";
import { aliveAgain } from "./support/http.ts";
import { killWorker, until } from "./support/stack.ts";
import { deployTestAgent } from "./support/test-agent.ts";

let deployment_id: string;
beforeAll(async () => {
  deployment_id = await deployTestAgent();
});

const humanInput = (content: string) => ({ messages: [{ role: "user", content }] });

describe.each(lines)("the SDK %s", (line, sdk) => {
  test("makes, finds, counts, changes and deletes crons", async () => {
    const { crons, threads } = sdk(deployment_id);
    const metadata = { line };
    const { thread_id } = await threads.create();
    const own = await crons.create("echo", {
      schedule: "0 9 * * 1-5",
      input: humanInput("hi"),
      metadata,
    });
    const on = await crons.createForThread(thread_id, "echo", {
      schedule: "30 2 1 * *",
      input: humanInput("hi"),
      metadata,
    });
    expect(own).toMatchObject({ schedule: "0 9 * * 1-5", thread_id: null, metadata });
    expect(on).toMatchObject({ schedule: "30 2 1 * *", thread_id });
    const [found, ...more] = await crons.search({ threadId: thread_id });
    expect(more).toEqual([]);
    expect(found).toMatchObject({ cron_id: on.cron_id, enabled: true });
    expect(await crons.count({ threadId: thread_id })).toBe(1);
    const off = await crons.update(own.cron_id, {
      enabled: false,
      endTime: "2030-01-01T00:00:00Z",
    });
    expect(off).toMatchObject({ enabled: false, next_run_date: null });
    expect(await crons.update(own.cron_id, { enabled: true, endTime: null })).toMatchObject({
      enabled: true,
      end_time: null,
      next_run_date: expect.stringMatching(/T09:00:00/),
    });
    await crons.delete(own.cron_id);
    await threads.delete(thread_id);
    expect(await crons.count({ threadId: thread_id })).toBe(0);
    await expect(crons.delete(on.cron_id)).rejects.toThrow("HTTP 404");
    await expect(crons.create("echo", { schedule: "often" })).rejects.toThrow(
      "HTTP 422: body.schedule",
    );
  });
});

test("time zones, and parameters of the newer SDK", async () => {
  const { crons } = client(deployment_id);
  const cron = await crons.create("echo", {
    schedule: "0 9 * * *",
    timezone: "Asia/Kolkata",
    metadata: { zone: "ist" },
    streamMode: ["updates"],
    onRunCompleted: "keep",
  });
  expect(cron).toMatchObject({
    timezone: "Asia/Kolkata",
    on_run_completed: "keep",
    next_run_date: expect.stringMatching(/T03:30:00/),
    payload: { stream_mode: ["updates"] },
  });
  expect(await crons.count({ metadata: { zone: "ist" } })).toBe(1);
  const selected = await crons.search({ metadata: { zone: "ist" }, select: ["cron_id"] });
  expect(selected).toEqual([{ cron_id: cron.cron_id }]);
  await crons.delete(cron.cron_id);
});

test("a firing starts one run, where the Worker is killed before it and right after it began", async () => {
  const { crons, threads, runs } = client(deployment_id, { maxRetries: 4 });
  const made = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const { thread_id } = await threads.create();
      const payload = { schedule: "* * * * *", input: humanInput("tick") };
      return crons.createForThread(thread_id, "echo", payload);
    }),
  );
  const listed = () =>
    Promise.all(made.map(({ thread_id }) => runs.list(thread_id, { limit: 100 })));
  const due = Date.parse(made[0]?.next_run_date ?? "");
  await until(
    "The moment",
    async () => Date.now(),
    (now) => now > due - 1_000,
  );
  await killWorker();
  await aliveAgain();
  await until("The first run", listed, (found) => found.flat().length > 0);
  await killWorker();
  await aliveAgain();
  const isOver = ({ status }: { status: string }) => status === "success";
  const found = await until("A run of each", listed, (all) => all.every((own) => own.some(isOver)));
  await Promise.all(made.map(({ cron_id }) => crons.delete(cron_id)));
  // A run for each minute that began; the missed one came late, and once.
  const minutes = 1 + Math.floor((Date.now() - due) / 60_000);
  for (const [n, own] of found.entries()) {
    expect(own.length).toBeGreaterThan(0);
    expect(own.length).toBeLessThanOrEqual(minutes);
    for (const { metadata } of own) expect(metadata).toMatchObject({ cron_id: made[n]?.cron_id });
  }
});
