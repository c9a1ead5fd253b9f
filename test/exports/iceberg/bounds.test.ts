import { beforeAll, expect, test } from "vitest";
import { selectColumns } from "../../../src/exports/columns.ts";
import { MERGED_AT_ONCE, planMerge } from "../../../src/exports/iceberg/merge.ts";
import {
  appendSnapshot,
  isDeletable,
  MAX_FORMER_VERSIONS,
  MAX_SNAPSHOTS,
  unusedBetween,
} from "../../../src/exports/iceberg/metadata.ts";
import type { TableManifest, TableMetadata, UnusedFile } from "../../../src/exports/table-state.ts";
import { carryOn, type Exporter, exporter, given } from "../support/exports.ts";
import { hour, openTable, scan, scheduleTable, spawnWindow } from "./support.ts";

const WINDOWS = MERGED_AT_ONCE + 2;
const HOUR_MS = 3_600_000;
const YEARS = 10;
const table = { id: crypto.randomUUID(), location: "s3://b/t", columns: selectColumns(null) };

let ours: Exporter;
beforeAll(async () => {
  ours = await exporter();
});

test("manifests are merged, and every snapshot keeps its files", { timeout: 240_000 }, async () => {
  const project = await given(ours, { from: hour(0), count: WINDOWS, step_ms: HOUR_MS });
  const { schedule } = await scheduleTable(ours, project, 0, { export_fields: ["id"] });
  for (let n = 0; n < WINDOWS; n++) {
    expect(await carryOn(await spawnWindow(schedule.id, n))).toMatchObject({ status: "COMPLETED" });
  }
  const { metadata } = await openTable(schedule.id);
  const { manifests, files, rows } = await scan(metadata);
  expect([manifests.length, files.length, rows]).toEqual([3, WINDOWS, WINDOWS]);
  expect(new Set(files.map(({ key }) => key)).size).toBe(WINDOWS);
  const versions = files.map(({ version }) => version);
  expect(versions).toEqual(Array.from({ length: WINDOWS }, (_, n) => n + 1));
  expect(files.map(({ snapshot_id }) => snapshot_id)).toEqual(
    metadata.snapshots.map((each) => each["snapshot-id"]),
  );
  for (const n of [0, MERGED_AT_ONCE - 1, MERGED_AT_ONCE]) {
    expect((await scan(metadata, metadata.snapshots[n]?.["snapshot-id"])).rows).toBe(n + 1);
  }
});

function manifestAt(version: number): TableManifest {
  return {
    key: `${version}`,
    bytes: 4000,
    level: 0,
    first_version: version,
    last_version: version,
    version,
    snapshot_id: version,
    added_files: 1,
    added_rows: 1,
    existing_files: 0,
    existing_rows: 0,
  };
}

test("ten years of hourly windows have at most 150 manifests, with every version once", () => {
  let manifests: TableManifest[] = [];
  let most = 0;
  let written = 0;
  for (let version = 1; version <= YEARS * 365 * 24; version++) {
    const { merged, kept } = planMerge(manifests);
    const [first, last] = [merged[0], merged.at(-1)];
    manifests = [...kept];
    if (first && last) {
      const existing_files = merged.reduce((sum, e) => sum + e.added_files + e.existing_files, 0);
      expect(last.last_version - first.first_version + 1).toBe(existing_files);
      const range = { first_version: first.first_version, last_version: last.last_version };
      const counts = { added_files: 0, existing_files };
      manifests.push({ ...manifestAt(version), ...range, ...counts, level: first.level + 1 });
      written += existing_files;
    }
    manifests.push(manifestAt(version));
    most = Math.max(most, manifests.length);
  }
  const files = manifests.reduce((sum, each) => sum + each.added_files + each.existing_files, 0);
  expect(files).toBe(YEARS * 365 * 24);
  expect(most).toBeLessThanOrEqual(150);
  expect(written / files).toBeLessThan(4);
});

test("the row of a table with the longest prefix stays below 2 MB", () => {
  const folder = `s3://bucket/${"p".repeat(600)}/export/schedule/metadata`;
  let [metadata, unused]: [TableMetadata | null, UnusedFile[]] = [null, []];
  for (let version = 1; version <= 2 * MAX_SNAPSHOTS; version++) {
    const name = `${folder}/${version}-${crypto.randomUUID()}`;
    const window = { "heddle.window": `${hour(version)} ${crypto.randomUUID()}`.padEnd(200) };
    const added = { manifest_list: `${name}-snapshot.avro`, files: 1, rows: 2, bytes: 3 };
    const snapshot = { ...added, snapshot_id: 2 ** 52 + version, version, properties: window };
    const next = appendSnapshot({ ...table, location: folder }, metadata, snapshot, version);
    const isGone = metadata === null ? () => false : isDeletable(metadata);
    const merged = { url: `${name}-added.avro`, version };
    unused = [...unused.filter((file) => !isGone(file)), ...unusedBetween(metadata, next), merged];
    metadata = next;
  }
  expect(metadata?.snapshots.length).toBeGreaterThan(500);
  expect(JSON.stringify([metadata, unused]).length).toBeLessThan(1_800_000);
}, 120_000);

test("metadata keeps 1000 snapshots and 100 former versions, and names what it drops once", () => {
  let metadata: TableMetadata | null = null;
  const dropped: string[] = [];
  const versions = 2 * MAX_SNAPSHOTS;
  for (let version = 1; version <= versions; version++) {
    const snapshot = {
      snapshot_id: 2 ** 52 + version,
      version,
      manifest_list: `list ${version}`,
      ...{ files: 1, rows: 2, bytes: 3 },
      properties: {
        "heddle.export-id": crypto.randomUUID(),
        "heddle.window-index": `${version}`,
        "heddle.window-start": hour(version),
        "heddle.window-end": hour(version + 1),
      },
    };
    const next: TableMetadata = appendSnapshot(table, metadata, snapshot, version % 7);
    dropped.push(...unusedBetween(metadata, next).map(({ url }) => url));
    expect(next["last-updated-ms"]).toBeGreaterThanOrEqual(metadata?.["last-updated-ms"] ?? 0);
    metadata = next;
  }
  if (metadata === null) throw new Error("There is no metadata");
  expect(metadata.snapshots).toHaveLength(MAX_SNAPSHOTS);
  expect(metadata["snapshot-log"]).toHaveLength(MAX_SNAPSHOTS);
  expect(metadata["metadata-log"]).toHaveLength(MAX_FORMER_VERSIONS);
  expect(metadata.snapshots.at(-1)?.summary).toMatchObject({ "total-records": `${2 * versions}` });
  expect(JSON.stringify(metadata).length).toBeLessThan(700_000);
  const lists = Array.from({ length: versions - MAX_SNAPSHOTS }, (_, n) => `list ${n + 1}`);
  const files = Array.from(
    { length: versions - 1 - MAX_FORMER_VERSIONS },
    (_, n) => `s3://b/t/metadata/v${n + 1}.metadata.json`,
  );
  expect(dropped.toSorted()).toEqual([...lists, ...files].toSorted());
  const oldest = versions - MAX_SNAPSHOTS + 1;
  const merged = [oldest, oldest + 1].map((version) => ({ url: "a manifest", version }));
  expect(merged.map(isDeletable(metadata))).toEqual([true, false]);
});
