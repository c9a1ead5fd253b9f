import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { afterEach, describe, expect, test, vi } from "vitest";
import { consumeFile } from "../../src/exports/progress/consumer.ts";
import { bulk_export_files } from "../../src/exports/table.ts";
import { database } from "../../src/shared/context.ts";
import { consumeProjectDeletion } from "../../src/traces/deletion/project-deletion.ts";
import { TracePartition } from "../../src/traces/object/object.ts";
import { PartitionStore } from "../../src/traces/storage/partition.ts";
import { eventually } from "../support/eventually.ts";
import { api } from "../support/workspace.ts";
import { batch, wireRun } from "../traces/support/runs.ts";
import { placesOf } from "../traces/support/storage-scan.ts";
import { carryOn, contents } from "./support/exports.ts";
import {
  ALL,
  clean,
  cleanAll,
  DAY,
  deleteSealed,
  exportDay,
  NOON,
  partition,
  planned,
  ROWS,
  type Scene,
  SLOW_MS,
  scene,
  sealedKeys,
} from "./support/sealed.ts";

const db = database(env);

afterEach(async () => {
  vi.restoreAllMocks();
  await deleteSealed();
});

type Call = <T>(work: () => Promise<T>) => Promise<T>;

/** Environment whose D1, R2 and partitions fail from one call on, before or after its effect. The destination works. */
function dyingAt(at: number, isAfter: boolean) {
  let calls = 0;
  const call: Call = async (work) => {
    const n = calls++;
    if (n > at || (n === at && !isAfter)) throw new Error("dead");
    const result = await work();
    if (n === at) throw new Error("dead");
    return result;
  };
  const wrap = <T extends object>(target: T): T =>
    new Proxy(target, {
      get: (of, name) => {
        const value = Reflect.get(of, name);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) =>
          call(async () => {
            const result = await Reflect.apply(value, of, args);
            return name === "createMultipartUpload" ? wrap(result as object) : result;
          });
      },
    });
  const PARTITIONS = new Proxy(env.PARTITIONS, {
    get: (of, name) => {
      const value = Reflect.get(of, name);
      if (name !== "getByName" && name !== "get") return value;
      return (...args: unknown[]) => wrap(Reflect.apply(value as () => object, of, args));
    },
  });
  return {
    env: { ...env, ARTIFACTS: wrap(env.ARTIFACTS), PARTITIONS, DB: databaseOf(call) } as Env,
    isDead: () => calls > at,
  };
}

/** D1 whose statements and batches run by `call`. */
function databaseOf(call: Call): D1Database {
  const inner = new WeakMap<object, D1PreparedStatement>();
  const wrap = (statement: D1PreparedStatement): object => {
    const wrapped = {
      bind: (...values: unknown[]) => wrap(statement.bind(...values)),
      all: () => call(() => statement.all()),
      run: () => call(() => statement.run()),
      raw: () => call(() => statement.raw()),
    };
    inner.set(wrapped, statement);
    return wrapped;
  };
  return {
    prepare: (sql: string) => wrap(env.DB.prepare(sql)),
    batch: (statements: object[]) =>
      call(() => env.DB.batch(statements.flatMap((one) => inner.get(one) ?? []))),
  } as D1Database;
}

test(
  "a crash at any call leaves no object, and the export is as without it",
  async () => {
    const one = await scene();
    const expected = await exportDay(one, { filter: ALL });
    let isDead = true;
    for (let at = 0; isDead; at++) {
      for (const isAfter of [false, true]) {
        const { row, files } = await planned(one);
        const [file] = files;
        const dying = dyingAt(at, isAfter);
        const message = { bulk_export_file_id: file?.id ?? "" };
        await consumeFile(dying.env, message).catch(() => undefined);
        isDead = dying.isDead();
        await dieFor(one, file?.id ?? "");
        expect(await carryOn(row.id)).toMatchObject({ status: "COMPLETED" });
        expect([at, await contents(row)]).toEqual([at, expected]);
        await eventually(async () => {
          await clean(one);
          expect([at, await sealedKeys(one)]).toEqual([at, await knownKeys(one)]);
        });
        await unseal(one);
      }
    }
  },
  3 * SLOW_MS,
);

test.each([[null], [["id", "inputs"]]])(
  "a crash at any call of a copy leaves what is kept, fields %j",
  async (export_fields) => {
    const one = await scene();
    await exportDay(one);
    const [keys, expected] = [await sealedKeys(one), await exportDay(one, { export_fields })];
    let isDead = true;
    let at = 0;
    for (; isDead; at++) {
      for (const isAfter of [false, true]) {
        const { row, files } = await planned(one, { export_fields });
        const dying = dyingAt(at, isAfter);
        const message = { bulk_export_file_id: files[0]?.id ?? "" };
        await consumeFile(dying.env, message).catch(() => undefined);
        isDead = dying.isDead();
        await dieFor(one, files[0]?.id ?? "");
        expect(await carryOn(row.id)).toMatchObject({ status: "COMPLETED" });
        expect([at, await contents(row)]).toEqual([at, expected]);
      }
    }
    // Finds the file, reads it, and finds it again, between the statements of D1.
    expect([at > 20, await sealedKeys(one)]).toEqual([true, keys]);
  },
  3 * SLOW_MS,
);

/** Lets the leases of a dead process end. */
async function dieFor(of: Scene, file_id: string): Promise<void> {
  const ended = { lease_expires_at: null, next_attempt_at: null };
  await db.update(bulk_export_files).set(ended).where(eq(bulk_export_files.id, file_id));
  await runInDurableObject(partition(of), (_, { storage }) => {
    new PartitionStore(storage).sealed.dropExpired(Number.POSITIVE_INFINITY);
  });
}

function knownKeys(of: Scene): Promise<string[]> {
  return runInDurableObject(partition(of), (_, { storage }) => {
    const files = storage.kv.get<{ key: string }[]>("sealed_files") ?? [];
    return files.map(({ key }) => key);
  });
}

async function unseal(of: Scene): Promise<void> {
  await runInDurableObject(partition(of), async (_, { storage }) => {
    new PartitionStore(storage).sealed.drop();
    await storage.setAlarm(Date.now());
  });
  await cleanAll(of);
}

test("the oldest files make room for a new one", async () => {
  const one = await scene();
  await clean(one);
  const digests = Array.from({ length: 1000 }, () => ({ sha256: "a".repeat(64) }));
  const contents = { rows: 1, bytes: 1, sha256: "", digests, min_start_us: 0, max_start_us: 1 };
  const ids = Array.from({ length: 30 }, (_, n) => `file-${n}`);
  const [kept, left] = await runInDurableObject(partition(one), (_, { storage }) => {
    const { sealed } = new PartitionStore(storage);
    for (const [n, id] of ids.entries()) {
      const range = { from_us: n, to_us: n + 1, after: null, until: null, max_seq: 1, layout: "" };
      const attempt = { id, owner: id, key: id, upload_id: id, lease_until: Date.now() + 60_000 };
      sealed.begin(range, attempt);
      expect(sealed.commit(id, contents)).toBe(true);
    }
    const rows = storage.sql.exec<{ id: string }>("SELECT id FROM leftovers").toArray();
    const files = storage.kv.get<{ id: string }[]>("sealed_files") ?? [];
    return [files.map(({ id }) => id), rows.map(({ id }) => JSON.parse(id).key)];
  });
  expect(kept.length).toBeGreaterThan(10);
  expect(kept).toEqual(ids.slice(-kept.length));
  expect(left.toSorted()).toEqual(ids.slice(0, -kept.length).toSorted());
  await unseal(one);
});

test("an attempt that dies is deleted by the alarm at the end of its lease", async () => {
  const one = await scene();
  await clean(one);
  await runInDurableObject(partition(one), (_, { storage }) => storage.deleteAlarm());
  vi.spyOn(TracePartition.prototype, "commitSeal").mockResolvedValue(false);
  await exportDay(one);
  expect(await sealedKeys(one)).toHaveLength(1);
  const alarm = await runInDurableObject(partition(one), (_, { storage }) => storage.getAlarm());
  expect(alarm).toBeGreaterThan(Date.now() + 60_000);
  await runInDurableObject(partition(one), (_, { storage }) => {
    const files = storage.kv.get<object[]>("sealed_files") ?? [];
    storage.kv.put(
      "sealed_files",
      files.map((file) => ({ ...file, lease_until: 0 })),
    );
  });
  await cleanAll(one);
});

test(
  "a kept file that is missing or has other bytes is not copied",
  async () => {
    const one = await scene();
    const expected = await exportDay(one);
    const [key = ""] = await sealedKeys(one);
    const file = new Uint8Array((await (await env.ARTIFACTS.get(key))?.arrayBuffer()) ?? []);
    file[file.length >> 1] = (file[file.length >> 1] ?? 0) ^ 1;
    await env.ARTIFACTS.put(key, file);
    expect(await exportDay(one)).toEqual(expected);
    await env.ARTIFACTS.delete(key);
    expect(await exportDay(one)).toEqual(expected);
  },
  SLOW_MS,
);

describe("no byte of a kept run remains after the deletion of", () => {
  async function marked(): Promise<Scene & { text: string; trace_id: string }> {
    const one = await scene();
    const text = `marker${crypto.randomUUID().replaceAll("-", "")}`;
    const { session_name: _, ...run } = wireRun(
      "",
      { name: text, inputs: { text } },
      {
        at: Date.parse(NOON) + 1,
      },
    );
    await batch(one.ours.editor, [{ ...run, session_id: one.project }]);
    await exportDay(one);
    expect(await placesOf(text)).toEqual(expect.arrayContaining(["bucket", "object run"]));
    return { ...one, text, trace_id: run.trace_id };
  }

  test(
    "its trace",
    async () => {
      const one = await marked();
      const json = { session_id: one.project, trace_ids: [one.trace_id] };
      expect((await api("/runs/delete", { key: one.ours.admin, json })).status).toBe(200);
      await cleanAll(one);
      expect(await placesOf(one.text)).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "its day",
    async () => {
      const one = await marked();
      const key = { project_id: one.project, day: DAY, slot: 0 };
      const expired = await partition(one).expireTraces(key, { tier: "all", keep: [] });
      expect(expired).toMatchObject({ runs: ROWS + 1, has_leftovers: true });
      await cleanAll(one);
      expect(await placesOf(one.text)).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "its project",
    async () => {
      const one = await marked();
      const path = `/sessions/${one.project}`;
      expect((await api(path, { key: one.ours.admin, method: "DELETE" })).status).toBe(202);
      await consumeProjectDeletion(env, { project_id: one.project });
      expect(await placesOf(one.text)).toEqual([]);
    },
    SLOW_MS,
  );
});
