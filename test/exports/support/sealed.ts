import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { planExport } from "../../../src/exports/progress/plan.ts";
import type { ExportRow } from "../../../src/exports/table.ts";
import { deleteBelow } from "../../../src/shared/storage/objects-below.ts";
import { TracePartition } from "../../../src/traces/object/object.ts";
import { eventually } from "../../support/eventually.ts";
import {
  carryOn,
  contents,
  type Exporter,
  exporter,
  given,
  ordered,
  readFiles,
  readRow,
} from "./exports.ts";

export const DAY = "2026-05-07";
const RANGE = { start_time: `${DAY}T00:00:00Z`, end_time: "2026-05-08T00:00:00Z" };
export const NOON = `${DAY}T12:00:00Z`;
export const ROWS = 1000;
export const SLOW_MS = 120_000;
/** Matches every run, so that the rows are encoded. */
export const ALL = 'gte(start_time, "2026-01-01T00:00:00Z")';

export type Scene = { ours: Exporter; project: string };

const projects: string[] = [];

export async function scene(text = 10, count = ROWS): Promise<Scene> {
  const ours = await exporter();
  const project = await given(ours, { from: NOON, count, text });
  projects.push(project);
  return { ours, project };
}

/** Deletes the files of all scenes: tests of deletion read every object of the bucket. */
export async function deleteSealed(): Promise<void> {
  for (const project of projects.splice(0)) {
    while (!(await deleteBelow(env.ARTIFACTS, `traces/${project}/`)));
  }
}

export function order(
  { ours, project }: Scene,
  fields: Partial<ExportRow> = {},
): Promise<ExportRow> {
  return ordered(ours, project, { ...RANGE, compression: "zstandard", ...fields });
}

/** Exports the day. Returns the files with their hashes, which are compared with the objects. */
export async function exportDay(of: Scene, fields: Partial<ExportRow> = {}) {
  const row = await order(of, fields);
  expect(await carryOn(row.id)).toMatchObject({ status: "COMPLETED", error: null });
  return contents(row);
}

export async function sealedKeys({ project }: Scene): Promise<string[]> {
  const { objects } = await env.ARTIFACTS.list({ prefix: `traces/${project}/` });
  return objects.map(({ key }) => key);
}

export const partition = ({ project }: Scene) => env.PARTITIONS.getByName(`${project}/${DAY}/0`);

/** Deletes what is left over. */
export const clean = (of: Scene) => runDurableObjectAlarm(partition(of));

/** Waits for an alarm that runs already. */
export async function cleanAll(of: Scene): Promise<void> {
  await eventually(async () => {
    await clean(of);
    expect(await sealedKeys(of)).toEqual([]);
  });
}

type Reads = { calls: number; bytes: number; most: number };
/** Runs behind a read of R2, with its number. The bytes read before are returned all the same. */
type OnRead = (n: number) => Promise<unknown>;

/** Environment that counts the reads of sealed files: calls, bytes, and calls at the same time. */
export function countReads(onRead: OnRead = async () => undefined): { env: Env; reads: Reads } {
  const reads = { calls: 0, bytes: 0, most: 0 };
  let open = 0;
  const get = async (key: string, options: { range: R2Range }) => {
    reads.calls += 1;
    reads.most = Math.max(reads.most, ++open);
    const n = reads.calls;
    const found = await env.ARTIFACTS.get(key, options);
    const body = await found?.arrayBuffer();
    await onRead(n);
    open -= 1;
    reads.bytes += body?.byteLength ?? 0;
    return body === undefined ? null : { arrayBuffer: async () => body };
  };
  const ARTIFACTS = new Proxy(env.ARTIFACTS, {
    get: (of, name) => (name === "get" ? get : Reflect.get(of, name)),
  });
  return { env: { ...env, ARTIFACTS } as Env, reads };
}

/** Plans an export of the day, whose files the caller writes. */
export async function planned(of: Scene, fields: Partial<ExportRow> = {}) {
  const row = await order(of, { status: "RUNNING", ...fields });
  await planExport(env, await readRow(row.id));
  return { row, files: await readFiles(row.id) };
}

/** Counts the pages that exports read of a project's runs, by day. */
export function countPages({ project }: Scene): (day?: string) => number {
  const scan = vi.spyOn(TracePartition.prototype, "scan");
  const nameOf = (object: object) => (Reflect.get(object, "ctx") as DurableObjectState).id.name;
  return (day = "") =>
    scan.mock.contexts.filter((of) => nameOf(of as object)?.startsWith(`${project}/${day}`)).length;
}
