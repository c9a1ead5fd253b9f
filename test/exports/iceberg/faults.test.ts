import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { addToTable } from "../../../src/exports/iceberg/commit.ts";
import { changeTable, claimTable, withTable } from "../../../src/exports/iceberg/table-lease.ts";
import { LEASE_MS } from "../../../src/exports/limits.ts";
import {
  call,
  carryOn,
  type Exporter,
  exporter,
  given,
  readFiles,
  readRow,
} from "../support/exports.ts";
import { hour, openTable, readTable, scan, scheduleTable, spawnWindow } from "./support.ts";

const STEPS = ["-added.avro", "-snapshot.avro", ".metadata.json", "version-hint.text"];
const REFUSAL = "<Error><Code>AccessDenied</Code><Message>No.</Message></Error>";

let ours: Exporter;
let project: string;
beforeAll(async () => {
  ours = await exporter();
  project = await given(ours, { from: hour(0), count: 2, step_ms: 3_600_000 });
});

afterEach(() => vi.restoreAllMocks());

/** Refuses the PUT of an object of a table, before it reaches the server or after. */
function refuse(name: string, isSent: boolean) {
  const send = globalThis.fetch;
  return vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const url = String(input);
    const isMatch = init?.method === "PUT" && url.includes("/_tables/") && url.endsWith(name);
    if (!isMatch || isSent) {
      const answer = await send(input, init);
      if (!isMatch) return answer;
    }
    return new Response(REFUSAL, { status: 403 });
  });
}

/** Has a table of one window, whose next window fails at a step. */
async function failSecond(name: string, isSent: boolean) {
  const { schedule } = await scheduleTable(ours, project, 0);
  const first = await spawnWindow(schedule.id, 0);
  await carryOn(first);
  const fault = refuse(name, isSent);
  const second = await spawnWindow(schedule.id, 1);
  const failed = await carryOn(second);
  expect(failed).toMatchObject({ status: "FAILED", error: "AccessDenied: No." });
  fault.mockRestore();
  return { schedule_id: schedule.id, first, second };
}

async function expectWhole(schedule_id: string, exports: string[]) {
  const { version, metadata } = await openTable(schedule_id);
  expect(version).toBe(exports.length);
  expect(metadata.snapshots.map(({ summary }) => summary["heddle.export-id"])).toEqual(exports);
  expect((await scan(metadata)).rows).toBe(exports.length);
}

describe.each(STEPS)("a commit that fails at %s", (name) => {
  test.each([
    ["before", false],
    ["after", true],
  ])("%s the server has it leaves the table whole, and a retry completes it", async (_, isSent) => {
    const { schedule_id, first, second } = await failSecond(name, isSent);
    const isVisible = name === "version-hint.text" && isSent;
    await expectWhole(schedule_id, isVisible ? [first, second] : [first]);
    await call(ours, `/${second}/retry`, "POST");
    expect(await carryOn(second)).toMatchObject({ status: "COMPLETED", table_version: 2 });
    await expectWhole(schedule_id, [first, second]);
  });
});

test("a commit that D1 has is published by the next window", async () => {
  const { schedule_id, first, second } = await failSecond(".metadata.json", false);
  const third = await spawnWindow(schedule_id, 2);
  expect(await carryOn(third)).toMatchObject({ status: "COMPLETED", table_version: 3 });
  const { metadata } = await openTable(schedule_id);
  const exports = metadata.snapshots.map(({ summary }) => summary["heddle.export-id"]);
  expect(exports).toEqual([first, second, third]);
  expect((await scan(metadata)).rows).toBe(2);
});

test("a renewal that comes after the release of a table does not lease it again", async () => {
  const { schedule } = await scheduleTable(ours, project, 0);
  const owner = { schedule_id: schedule.id, workspace_id: ours.workspace_id };
  const table = await withTable(env, owner, new AbortController().signal, async (row) => row);
  const lease_expires_at = new Date(Date.now() + LEASE_MS).toISOString();
  expect(await changeTable(env, table, { lease_expires_at })).toBe(false);
  expect((await claimTable(env, owner, new Date())).token).toBeGreaterThan(table.token);
});

test("a writer that died leaves the table after its lease, and cannot change it then", async () => {
  const { schedule } = await scheduleTable(ours, project, 0);
  const owner = { schedule_id: schedule.id, workspace_id: ours.workspace_id };
  const dead = await claimTable(env, owner, new Date(Date.now() - LEASE_MS / 2));
  await expect(claimTable(env, owner, new Date())).rejects.toThrow("Another window");
  const id = await spawnWindow(schedule.id, 0);
  expect(await carryOn(id)).toMatchObject({ status: "COMPLETED", table_version: 1 });
  expect(await changeTable(env, dead, { version: 0 })).toBe(false);
  expect(await readTable(schedule.id)).toMatchObject({ version: 1, published_version: 1 });
  const row = await readRow(id);
  await addToTable(env, row, await readFiles(id), new AbortController().signal);
  await expectWhole(schedule.id, [id]);
});
