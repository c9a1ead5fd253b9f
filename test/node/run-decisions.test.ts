import { expect, test } from "vitest";
import { chooseRuns } from "../../src/agent-server/threads/contract/run-decisions.ts";
import { newId } from "../../src/shared/storage/ids.ts";

test("a later cancellation has the runs accepted before it, also those of the same millisecond", () => {
  const [first, second, last_id, later] = [newId(), newId(), newId(), newId()];
  const [older, newer] = ["019a2b3c-4d5e-4f60-8a1b-2c3d4e5f6071", crypto.randomUUID()];
  const accepted_until = Date.now() - 1000;
  const due = new Map([first, second, later, newer].map((id) => [id, accepted_until + 1]));
  due.set(older, accepted_until);
  const runs = {
    get: (id: string) => ({
      status: "pending" as const,
      accepted_at: 0,
      started_at: null,
      due_at: due.get(id) ?? 0,
    }),
    queue: { inFlight: () => [...due.keys()] },
  };
  const choice = { run_ids: null, status: "all" as const, accepted_until, last_id };
  expect(chooseRuns(runs, choice).inFlight).toEqual([first, second, older]);
});

// The id of a run with an idempotency key begins with the midnight before, that of a cron with its scheduled time.
test("a run whose id begins with an earlier time is chosen by the time of its acceptance", () => {
  const accepted_until = Date.UTC(2026, 10, 29, 12);
  const id = "01a22499-f800-7000-8000-000000000001";
  const chosen = (accepted_at: number, due_at = accepted_at) => {
    const run = { status: "pending" as const, accepted_at, due_at, started_at: null };
    const runs = { get: () => run, queue: { inFlight: () => [id] } };
    const choice = { run_ids: null, status: "all" as const, accepted_until, last_id: newId() };
    return chooseRuns(runs, choice).inFlight.length === 1;
  };
  expect(chosen(accepted_until - 1)).toBe(true);
  expect(chosen(accepted_until - 1, accepted_until + 3_600_000)).toBe(true);
  expect(chosen(accepted_until + 60_000)).toBe(false);
});

test("a cancellation of running runs leaves out those that start because of it", () => {
  const accepted_until = Date.now();
  const chosen = (started_at: number | null) => {
    const times = { accepted_at: accepted_until - 60_000, due_at: 0, started_at };
    const runs = {
      get: () => ({ status: "running" as const, ...times }),
      queue: { inFlight: () => ["019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071"] },
    };
    const choice = { run_ids: null, status: "running" as const, accepted_until, last_id: newId() };
    return chooseRuns(runs, choice).found;
  };
  expect([chosen(accepted_until - 1), chosen(accepted_until + 1)]).toEqual([1, 0]);
});
