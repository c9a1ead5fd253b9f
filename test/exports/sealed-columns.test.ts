import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { selectColumns } from "../../src/exports/columns.ts";
import { consumeFile } from "../../src/exports/progress/consumer.ts";
import { readRows } from "../support/parquet.ts";
import { api } from "../support/workspace.ts";
import {
  cancel,
  carryOn,
  contents,
  leftovers,
  NOTHING,
  readFiles,
  readObject,
  readRow,
} from "./support/exports.ts";
import {
  ALL,
  countPages,
  countReads,
  deleteSealed,
  exportDay,
  planned,
  ROWS,
  type Scene,
  SLOW_MS,
  scene,
  sealedKeys,
} from "./support/sealed.ts";

afterEach(async () => {
  vi.restoreAllMocks();
  await deleteSealed();
});

const CHOICES = [
  ["id"],
  ["start_time", "inputs", "tags"],
  ["tenant_id", "name", "parent_run_ids", "feedback_stats", "is_root", "total_cost"],
];

describe("chosen fields of a sealed day", () => {
  test(
    "are copied, byte for byte as they would be encoded",
    async () => {
      const one = await scene();
      await exportDay(one);
      const pages = countPages(one);
      for (const export_fields of CHOICES) {
        const encoded = await exportDay(one, { export_fields, filter: ALL });
        const before = pages();
        expect([await exportDay(one, { export_fields }), pages()]).toEqual([encoded, before]);
      }
    },
    SLOW_MS,
  );

  test(
    "are read as far as they are chosen, in row groups of the sealed file",
    async () => {
      const one = await scene(17_000);
      await exportDay(one);
      const [key = ""] = await sealedKeys(one);
      const sealed_bytes = (await env.ARTIFACTS.head(key))?.size ?? 0;
      const export_fields = ["id", "start_time", "status"];
      const { row, files } = await planned(one, { export_fields });
      const counted = countReads();
      await consumeFile(counted.env, { bulk_export_file_id: files[0]?.id ?? "" });
      await carryOn(row.id);
      // A footer and three row groups.
      expect(counted.reads.calls).toBeLessThanOrEqual(4);
      expect(counted.reads.bytes).toBeLessThan(sealed_bytes / 10);
      expect(counted.reads.most).toBeLessThanOrEqual(3);
      const [file] = await readFiles(row.id);
      expect(file).toMatchObject({ rows_written: ROWS, retry_number: 0 });

      const columns = selectColumns(export_fields);
      const encoded = await planned(one, { export_fields, filter: ALL });
      await carryOn(encoded.row.id);
      const [other] = await readFiles(encoded.row.id);
      const [copied, expected] = await Promise.all(
        [file?.key, other?.key].map(async (at) =>
          readRows(new Uint8Array(await readObject(at ?? "")), columns),
        ),
      );
      expect(copied).toEqual(expected);
    },
    SLOW_MS,
  );

  test(
    "are encoded when the footer of the sealed file cannot be read",
    async () => {
      const one = await scene();
      const export_fields = ["id", "name"];
      const encoded = await exportDay(one, { export_fields });
      await exportDay(one);
      const [key = ""] = await sealedKeys(one);
      const { size = 0 } = (await env.ARTIFACTS.head(key)) ?? {};
      await env.ARTIFACTS.put(key, new Uint8Array(size));
      expect(await exportDay(one, { export_fields })).toEqual(encoded);
    },
    SLOW_MS,
  );
});

/** Fields of all columns are copied as one file, others by column chunk. */
describe.each([[null], [["id", "inputs"]]])(
  "while a sealed file is copied, fields %j",
  (fields) => {
    async function copying(onRead: (of: Scene, id: string) => Promise<unknown>) {
      const one = await scene();
      await exportDay(one);
      const { row, files } = await planned(one, { export_fields: fields });
      const lastRead = fields === null ? 1 : 2;
      const counted = countReads(async (n) => (n === lastRead ? onRead(one, row.id) : undefined));
      await consumeFile(counted.env, { bulk_export_file_id: files[0]?.id ?? "" });
      expect(counted.reads.calls).toBe(lastRead);
      return { row, key: files[0]?.key ?? "" };
    }

    test(
      "an acknowledged deletion is not followed by a file with the run",
      async () => {
        const { row } = await copying(async ({ ours, project }) => {
          const query = { session: [project], limit: 1 };
          const found = await api("/runs/query", { key: ours.viewer, json: query });
          const [run] = (await found.json<{ runs: { id: string }[] }>()).runs;
          const json = { session_id: project, trace_ids: [run?.id] };
          expect((await api("/runs/delete", { key: ours.admin, json })).status).toBe(200);
        });
        await carryOn(row.id);
        expect((await contents(row))[0]?.[1]).toBe(ROWS - 1);
      },
      SLOW_MS,
    );

    test(
      "a cancellation leaves no file",
      async () => {
        const { row, key } = await copying(({ ours }, id) => cancel(ours, id));
        expect(await readRow(row.id)).toMatchObject({ status: "CANCELLED" });
        await expect(readObject(key)).rejects.toThrow("404");
        expect(await leftovers(row)).toEqual(NOTHING);
      },
      SLOW_MS,
    );
  },
);
