import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { runJobs } from "../../../src/shared/work/jobs.ts";

test("a job that fails keeps no other one from its work, and the tick ends when all have", async () => {
  const done: string[] = [];
  const job = (name: string, ms: number) => async () => {
    await scheduler.wait(ms);
    done.push(name);
  };
  const failing = async () => {
    throw new Error("down");
  };
  await runJobs([job("before", 20), failing, job("after", 40)], env, new Date());
  expect(done).toEqual(["before", "after"]);
});
