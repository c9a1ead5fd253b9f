// A workflow whose queue has a partition for each key.
import { DBOS } from "@dbos-inc/dbos-sdk";
import { serve } from "./http.mjs";

const POLL_MS = 10;
const PAGE = 10_000;

const take = DBOS.registerWorkflow(
  async (_key, steps) => {
    for (let n = 0; n < steps; n++) await DBOS.runStep(async () => 1, { name: "step" });
    return steps;
  },
  { name: "take" },
);
DBOS.setConfig({
  name: "peer",
  applicationVersion: "1",
  systemDatabaseUrl: process.env.DATABASE_URL,
  runAdminServer: false,
  logLevel: "error",
});
await DBOS.launch();
await DBOS.registerQueue("keys", { partitionConcurrency: 1, minPollingIntervalMs: POLL_MS });

const start = (key, steps) =>
  DBOS.startWorkflow(take, { queueName: "keys", enqueueOptions: { queuePartitionKey: key } })(
    key,
    steps,
  );

serve({
  enqueue: async (key, steps) => void (await start(key, steps)),
  run: async (key, steps) => {
    const handle = await start(key, steps);
    await handle.getResult({ pollingIntervalMs: POLL_MS });
  },
  steps: async (key) => {
    const ended = await DBOS.listWorkflows({
      workflowName: "take",
      status: "SUCCESS",
      queuePartitionKey: key,
      loadInput: true,
      limit: PAGE,
    });
    return ended
      .filter(({ input }) => input?.[0] === key)
      .reduce((sum, { input }) => sum + input[1], 0);
  },
});
