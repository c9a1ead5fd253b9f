import { env } from "cloudflare:workers";
import { beforeAll, expect, test } from "vitest";
import { agentLog } from "../../../src/control-plane/deployments/logs/agent-log.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { deploymentRow, revisionRow } from "../../support/deployment.ts";
import { eventsOf, listOf, nextOf, type StreamEvent } from "../../support/events.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

let ours: TestWorkspace;
let theirs: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
  theirs = await workspace();
});

const NOON = Date.parse("2026-11-20T12:00:00.000Z");

async function printing() {
  const deployment = await deploymentRow(ours.workspace_id);
  const revision = await revisionRow(deployment);
  const object = agentLog(env, deployment.id);
  let printed = 0;
  const print = async (count: number, revision_id = revision.id) => {
    const lines = Array.from({ length: count }, () => {
      printed += 1;
      const level = printed % 2 === 0 ? ("ERROR" as const) : ("INFO" as const);
      const at_us = (NOON + printed) * 1000;
      return { revision_id, level, message: `Line ${printed}`, at_us, key: null };
    });
    await object.append(deployment.id, lines);
  };
  const path = `/v2/deployments/${deployment.id}/revisions/${revision.id}/logs/stream`;
  const open = (query: Record<string, string> = {}, last?: string, key = ours.viewer) =>
    api(`${path}?${new URLSearchParams(query)}`, {
      key,
      ...(last !== undefined && { headers: { "Last-Event-ID": last } }),
    });
  return { object, print, open };
}

const textOf = ({ event, data }: StreamEvent) => `${event}: ${data.message}`;
const range = { end_time: "2026-11-20T12:30:00Z" };

test("lines are followed as they are printed, those of another revision are not", async () => {
  const { print, open } = await printing();
  await print(1);
  const events = eventsOf(await open());
  expect(textOf(await nextOf(events))).toBe("log: Line 1");
  const next = nextOf(events);
  await print(1, newId());
  await print(2);
  expect(textOf(await next)).toBe("log: Line 3");
  expect(textOf(await nextOf(events))).toBe("log: Line 4");
  await events.return(undefined);
});

test("a stream resumes after any line: it repeats nothing and loses nothing", async () => {
  const { print, open } = await printing();
  await print(1203);
  const all = await listOf(eventsOf(await open(range)));
  expect(all.map(textOf)).toEqual(Array.from({ length: 1203 }, (_, at) => `log: Line ${at + 1}`));
  for (const at of [0, 499, 1201]) {
    const rest = await listOf(eventsOf(await open(range, all[at]?.id)));
    expect(rest.map(({ id }) => id)).toEqual(all.slice(at + 1).map(({ id }) => id));
  }
  expect((await open(range, all.at(-1)?.id)).status).toBe(204);
});

test("a stream has the lines of its filter, also those that are printed later", async () => {
  const { print, open } = await printing();
  await print(4);
  const errors = eventsOf(await open({ level: "ERROR", query: "LINE" }));
  expect(textOf(await nextOf(errors))).toBe("log: Line 2");
  expect(textOf(await nextOf(errors))).toBe("log: Line 4");
  const next = nextOf(errors);
  await print(1);
  await print(1);
  expect(textOf(await next)).toBe("log: Line 6");
  await errors.return(undefined);
  const some = { start_time: new Date(NOON + 2).toISOString(), end_time: range.end_time };
  expect((await listOf(eventsOf(await open(some)))).map(textOf)).toEqual(
    [2, 3, 4, 5, 6].map((at) => `log: Line ${at}`),
  );
});

test("a read of an agent's log skips lines that do not match, and the next read does not scan them", async () => {
  const { object, print } = await printing();
  const other = newId();
  await print(3);
  const filter = { is_up: true, level: null, text: "nothing", from_us: null, to_us: null };
  const read = { ...filter, after: 0, limit: 10 };
  expect(await object.listNew(other, read, 0)).toEqual({ lines: [], after: 3 });
  const waiting = object.listNew(other, { ...read, after: 3 }, 600_000);
  await print(1);
  expect(await waiting).toEqual({ lines: [], after: 4 });
});

test("a stream is refused to another workspace, and for an invalid id or time", async () => {
  const { open } = await printing();
  expect((await open({}, undefined, theirs.admin)).status).toBe(404);
  const refused = await open({}, "12-xyz");
  expect(refused.status).toBe(422);
  expect(await refused.text()).toContain("must be the id of an event of this stream");
  const wrong = await open({ start_time: "noon" });
  expect(wrong.status).toBe(422);
  expect(await wrong.text()).toContain("must be an ISO 8601 time");
});
