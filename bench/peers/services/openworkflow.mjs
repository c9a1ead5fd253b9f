// Workflows in SQLite. OpenWorkflow cannot order the runs of a key: only CONCURRENCY=1 orders runs, those of all keys.
import { OpenWorkflow } from "openworkflow";
import { BackendSqlite } from "openworkflow/sqlite";
import { serve } from "./http.mjs";

const POLL_MS = 10;

const backend = BackendSqlite.connect(process.env.DATABASE);
const client = new OpenWorkflow({ backend });
const take = client.defineWorkflow({ name: "take" }, async ({ input, step }) => {
  for (let n = 0; n < input.steps; n++) await step.run({ name: `step ${n}` }, () => 1);
  return input;
});
await client.newWorker({ concurrency: Number(process.env.CONCURRENCY) }).start();

serve({
  enqueue: async (key, steps) => void (await take.run({ key, steps })),
  run: async (key, steps) => {
    const handle = await take.run({ key, steps });
    handle.resultPollIntervalMs = POLL_MS;
    await handle.result();
  },
  steps: endedSteps,
});

async function endedSteps(key) {
  let after;
  let sum = 0;
  do {
    const page = await backend.listWorkflowRuns({ limit: 1000, ...(after ? { after } : {}) });
    for (const { input, status } of page.data)
      if (status === "completed" && input?.key === key) sum += input.steps;
    after = page.pagination.next;
  } while (after);
  return sum;
}
