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
    get: (id: string) => ({ status: "pending" as const, due_at: due.get(id) ?? 0 }),
    queue: { inFlight: () => [...due.keys()] },
  };
  const choice = { run_ids: null, status: "all" as const, accepted_until, last_id };
  expect(chooseRuns(runs, choice).inFlight).toEqual([first, second, older]);
});
