// The driver of MongoDB in an agent, against FerretDB with TLS. Left out without the variable FERRETDB.
import { afterAll, beforeAll, expect, test } from "vitest";
import { ferretdb, startFerretdb } from "../support/node/databases.ts";
import { client } from "./support/clients.ts";
import { deploy } from "./support/deployments.ts";
import { aliveAgain } from "./support/http.ts";
import { killAgents, killWorker, stack } from "./support/stack.ts";

const AGENT = `
import { MongoClient } from "mongodb";

const client = new MongoClient(process.env.MONGODB_URL, { maxPoolSize: 2 });
const visits = client.db("shop").collection("visits");

export async function visit({ name }) {
  await visits.updateOne({ name }, { $inc: { count: 1 } }, { upsert: true });
  const { count } = await visits.findOne({ name });
  return { count };
}

let attempts = 0;

export async function* interrupted() {
  attempts += 1;
  yield { ...(await visit({ name: "interrupted" })), attempts };
  if (attempts === 1) await new Promise(() => setInterval(() => {}, 1000));
}
`;

const databaseTest = test.skipIf(ferretdb === undefined);

let id: string;
let database: Awaited<ReturnType<typeof startFerretdb>>;
beforeAll(async () => {
  const { databases } = stack;
  if (ferretdb === undefined || databases === null) return;
  // No other file of this lane runs at the same time.
  database = await startFerretdb(databases.mariadb_port, databases.certificate);
  const graphs = { visit: "./agent.ts:visit", interrupted: "./agent.ts:interrupted" };
  const files = {
    "langgraph.json": JSON.stringify({ graphs }),
    "package.json": JSON.stringify({ dependencies: { mongodb: "7.9.0" } }),
    "agent.ts": AGENT,
  };
  const secrets = [{ name: "MONGODB_URL", value: database.url }];
  ({ id } = await deploy("mongodb", files, { secrets }));
  await killAgents();
});
afterAll(() => database?.stop());

const visit = (name: string) => client(id).runs.wait(null, "visit", { input: { name } });

databaseTest("a client in a module serves run after run, and runs at once", async () => {
  for (let count = 1; count <= 3; count++) expect(await visit("one")).toMatchObject({ count });
  const many = await Promise.all(Array.from({ length: 8 }, (_, n) => visit(`${n}`)));
  expect(many).toMatchObject(Array.from({ length: 8 }, () => ({ count: 1 })));
});

databaseTest("a client connects again after its connections have ended", async () => {
  await visit("late");
  await new Promise((resolve) => setTimeout(resolve, 30_000));
  expect(await visit("late")).toMatchObject({ count: 2 });
});

databaseTest("a second attempt has new connections", async () => {
  const { threads, runs } = client(id);
  const { thread_id } = await threads.create();
  const { run_id } = await runs.create(thread_id, "interrupted", { streamMode: "values" });
  for await (const { data } of runs.joinStream(thread_id, run_id)) {
    if ((data as { attempts?: number }).attempts === 1) break;
  }
  await killWorker();
  await aliveAgain();
  expect(await runs.join(thread_id, run_id)).toMatchObject({ attempts: 2, count: 2 });
});
