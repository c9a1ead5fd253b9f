import { expect, test } from "vitest";
import { client } from "./support/clients.ts";
import {
  awaitRevision,
  build,
  type Deployment,
  type Revision,
  uniqueName,
} from "./support/deployments.ts";
import { request } from "./support/http.ts";
import { pushRepository } from "./support/repositories.ts";
import { stack, until } from "./support/stack.ts";

const files = (version: string) => ({
  "langgraph.json": JSON.stringify({ graphs: { agent: "./agent.js:agent" } }),
  "agent.js": `export async function* agent({ wait_ms = 0 }) {
    await new Promise((resolve) => setTimeout(resolve, wait_ms));
    yield { text: [process.env.TONE ?? "plain", "${version}"] };
  }`,
});

type Output = { text: [string, string] };

async function text(ref: string, thread_id: string | null = null): Promise<string> {
  const { runs } = client(ref);
  const values = await (thread_id === null
    ? runs.wait(null, "agent", { input: {} })
    : runs.wait(thread_id, "agent", { input: {} }));
  return (values as Output).text.join(" ");
}

test("a branch is tried at its own URL, gets part of the traffic, is promoted and rolled back", async () => {
  const name = uniqueName("rollout");
  const { id, revision } = await build("rollout", await pushRepository(name, files("one")));
  const path = `/v2/deployments/${id}`;
  const one = revision.id;
  expect(await text(id)).toBe("plain one");

  await pushRepository(name, files("two"));
  const preview = await request<Revision & { url: string }>("POST", `${path}/revisions`, {
    activate: false,
    source_revision_config: { repo_ref: "main" },
  });
  const two = preview.body.id;
  expect(preview.body.url).toBe(`${stack.base_url}/agents/${id}/revisions/${two}`);
  expect((await awaitRevision(id, two)).status).toBe("DEPLOYED");
  expect(await text(id)).toBe("plain one");
  expect(await text(`${id}/revisions/${two}`)).toBe("plain two");
  const { thread_id } = await client(`${id}/revisions/${two}`).threads.create();
  expect(await text(id, thread_id)).toBe("plain one");
  const state = await client(`${id}/revisions/${two}`).threads.getState(thread_id);
  expect(state.values).toEqual({ text: ["plain", "one"] });

  const traffic = [one, two].map((revision_id) => ({ revision_id, percent: 50 }));
  expect((await request("PATCH", path, { traffic })).status).toBe(200);
  const answers = await Promise.all(Array.from({ length: 20 }, () => text(id)));
  expect(new Set(answers)).toEqual(new Set(["plain one", "plain two"]));
  const first = await text(id, thread_id);
  for (let run = 0; run < 3; run++) expect(await text(id, thread_id)).toBe(first);

  await request("PATCH", path, { traffic: [{ revision_id: two, percent: 100 }] });
  expect(await text(id)).toBe("plain two");

  const rolled = await request<Deployment>("POST", `${path}/revisions/${one}/redeploy`);
  expect(await text(id)).toBe("plain one");
  // An empty log: nothing was built.
  const log = await request<{ logs: unknown[] }>(
    "POST",
    `/v1/projects/${id}/revisions/${rolled.body.latest_revision_id}/build_logs`,
    {},
  );
  expect(log.body.logs).toEqual([]);

  const { runs, threads } = client(id);
  const busy = await threads.create();
  const { run_id } = await runs.create(busy.thread_id, "agent", { input: { wait_ms: 2000 } });
  await until(
    "A run in flight",
    () => runs.get(busy.thread_id, run_id),
    ({ status }) => status === "running",
  );
  const secrets = [{ name: "TONE", value: "kind" }];
  const patched = await request<Deployment>("PATCH", path, { secrets });
  expect(patched.body.latest_revision_id).not.toBe(rolled.body.latest_revision_id);
  expect(await text(id)).toBe("kind one");
  expect(await runs.join(busy.thread_id, run_id)).toMatchObject({ text: ["plain", "one"] });
  await request("PATCH", path, { secrets: [] });
  expect(await text(id)).toBe("plain one");
});
