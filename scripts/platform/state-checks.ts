import { assert, type Check, type Target } from "./target.ts";

const MIB = 1024 * 1024;
const LARGE = 8 * MIB;
/** A state has at most 10 MiB at Cloudflare, and 24 MiB on a local stack. */
const LARGEST = 9.5 * MIB;
const TOO_MANY = 26 * MIB;
const ITEM_BYTES = 1_890_000;

export const STATE_CHECKS: Check[] = [
  {
    name: "large state",
    limit: "SQLite row 2 MB",
    run: (target) => checkState(target, LARGE),
  },
  {
    name: "largest state",
    limit: "128 MB of an isolate, RPC 32 MiB",
    is_long: true,
    not_local: "a process of its pool may use 768 MB, and this state takes more at times",
    run: (target) => checkState(target, LARGEST),
  },
  { name: "state limit", limit: "RPC 32 MiB", run: checkStateLimit },
  { name: "large item", limit: "SQLite row 2 MB", run: checkLargeItem },
  { name: "read your writes", limit: "D1 sessions and replicas", run: checkReadYourWrites },
  { name: "many ids", limit: "D1: 100 bound parameters", run: checkManyIds },
];

type Large = { large?: string; echo?: string; turns?: number };

async function checkState({ client }: Target, characters: number): Promise<string> {
  const { thread_id } = await client.threads.create();
  await client.runs.wait(thread_id, "large", { input: { characters } });
  await client.runs.wait(thread_id, "echo", { input: { text: "beside it" } });
  const { values } = await client.threads.getState<Large>(thread_id);
  const length = values.large?.length ?? 0;
  assert(length === characters, `a state of ${characters} characters is read with ${length}`);
  assert(values.echo === "beside it", "the next run of a large state left no result");
  return `a state of ${characters / MIB} MiB is stored, loaded by a run and read`;
}

async function checkStateLimit({ client }: Target): Promise<string> {
  const { thread_id } = await client.threads.create();
  await client.runs.wait(thread_id, "echo", { input: { text: "before" } });
  const input = { characters: TOO_MANY };
  const { run_id } = await client.runs.create(thread_id, "large", { input });
  await client.runs.join(thread_id, run_id);
  const { status } = await client.runs.get(thread_id, run_id);
  assert(status === "error", `a run with a state of ${TOO_MANY / MIB} MiB ended ${status}`);
  const after = await client.runs.wait(thread_id, "echo", { input: { text: "after" } });
  assert(Object(after).echo === "after", `the thread is stuck: ${JSON.stringify(after)}`);
  return `a state of ${TOO_MANY / MIB} MiB ends its run, and the next run succeeds`;
}

async function checkLargeItem(target: Target): Promise<string> {
  const { client, agent } = target;
  const value = { text: "x".repeat(ITEM_BYTES) };
  await client.store.putItem(["platform"], "large", value);
  const item = await client.store.getItem(["platform"], "large");
  const length = String(item?.value.text).length;
  assert(length === ITEM_BYTES, `an item of ${ITEM_BYTES} bytes is read with ${length}`);
  const large = { namespace: ["platform"], key: "large", value: { text: "x".repeat(2 * MIB) } };
  const { status } = await target.fetch("PUT", `/agents/${agent.id}/store/items`, large);
  assert(status === 413, `an item of 2 MiB is answered ${status}`);
  return `an item of ${ITEM_BYTES} bytes is stored, and one of 2 MiB is a 413`;
}

/** D1 may answer reads from replicas: a caller must find what it created. */
async function checkReadYourWrites({ client }: Target): Promise<string> {
  const rounds = 10;
  for (let round = 0; round < rounds; round += 1) {
    const metadata = { platform_check: `${Date.now()}-${round}` };
    const created = await client.assistants.create({ graphId: "echo", metadata });
    const { assistant_id } = created;
    const found = await Promise.all([
      client.assistants.get(assistant_id).then((one) => [one]),
      client.assistants.search({ metadata }),
      client.assistants.search({ metadata }),
    ]);
    const isFound = found.every((list) => list[0]?.assistant_id === assistant_id);
    assert(isFound, `round ${round}: an assistant is missing right after its creation`);
    await client.assistants.delete(assistant_id);
    const left = await client.assistants.search({ metadata });
    assert(left.length === 0, `round ${round}: an assistant is listed after its deletion`);
  }
  return `${rounds} times, an assistant is read after its creation and gone after its deletion`;
}

/** Lists by 100 ids. The workspace is a parameter too: one query for all ids would have 101 parameters. */
async function checkManyIds(target: Target): Promise<string> {
  const count = 99;
  const { thread_id } = await target.client.threads.create();
  const ids = Array.from({ length: count }, () => crypto.randomUUID());
  const threads = await target.client.threads.search({ ids: [...ids, thread_id], limit: 10 });
  assert(threads.length === 1, `a search by ${count} ids found ${threads.length} threads`);
  const query = ids.map((id) => `id=${id}`).join("&");
  const path = `/api/v1/sessions?${query}&id=${target.agent.project_id}`;
  const projects = await target.json<{ id: string }[]>("GET", path);
  assert(projects.length === 1, `a list of ${count} ids has ${projects.length} projects`);
  return `lists by ${count + 1} ids, ${path.length} characters in a URL, find what exists`;
}
