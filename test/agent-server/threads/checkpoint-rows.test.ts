import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { Checkpoints } from "../../../src/agent-server/threads/object/checkpoints/checkpoints.ts";
import { threadTables } from "../../../src/agent-server/threads/object/log/lazy-tables.ts";
import { Parts } from "../../../src/agent-server/threads/object/log/parts.ts";
import type { ThreadObject } from "../../../src/agent-server/threads/object/object.ts";
import { MIGRATIONS, SCHEMA } from "../../../src/agent-server/threads/object/storage/migrations.ts";
import { ThreadStore } from "../../../src/agent-server/threads/object/storage/store.ts";
import type { StoredValue, StoredWrite } from "../../../src/isolate/checkpoint-contract.ts";
import { migrate } from "../../../src/shared/storage/object-tables.ts";
import { createLazyTables } from "../../support/thread-tables.ts";

type NewCheckpoint = Parameters<Checkpoints["put"]>[1][number];
type NewWrite = Parameters<Checkpoints["put"]>[2][number];

const bytes = (text: string) => new TextEncoder().encode(text);
const idOf = (n: number) => `id-${String(n).padStart(6, "0")}`;
const count = (sql: SqlStorage, table: string) =>
  sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n;

function inStorage<T>(work: (storage: DurableObjectStorage) => T) {
  const stub = env.THREADS.getByName(crypto.randomUUID()) as DurableObjectStub<ThreadObject>;
  return runInDurableObject(stub, (_, { storage }) => work(storage));
}

function withCheckpoints(work: (checkpoints: Checkpoints, sql: SqlStorage) => void) {
  return inStorage((storage) => {
    migrate(storage, MIGRATIONS);
    createLazyTables(storage.sql);
    const tables = threadTables(storage.sql);
    work(new Checkpoints(tables, new Parts(tables)), storage.sql);
  });
}

function checkpoint(n: number, parent: number | null, versions: Record<string, number>) {
  return {
    ns: "",
    checkpoint_id: idOf(n),
    parent_id: parent === null ? null : idOf(parent),
    checkpoint: JSON.stringify({ channel_versions: versions }),
    metadata: "{}",
  };
}

function write(n: number, task_id: string, idx: number, text: string): NewWrite {
  const data = bytes(text);
  return {
    ns: "",
    checkpoint_id: idOf(n),
    task_id,
    path: "",
    idx,
    channel: "c",
    type: "json",
    data,
  };
}

/** Numbers from 0 to 1 that are the same in each run. */
function randomOf(seed: number) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

type Model = { run_id: string; parent: number | null; versions: Record<string, number> };

/** Expected content of the storage, and random batches of runs that change it. */
class RandomRuns {
  readonly #pick: (below: number) => number;
  readonly #models = new Map<number, Model>();
  readonly #texts = new Map<string, string>();
  readonly #writes = new Map<number, Map<string, string>>();
  #last = 0;
  #version = 0;

  constructor(seed: number) {
    const random = randomOf(seed);
    this.#pick = (below) => Math.floor(random() * below);
  }

  /** Adds a run that begins at one of the newest checkpoints. */
  put(checkpoints: Checkpoints, run_id: string) {
    let at = [...this.#models.keys()].at(-1 - this.#pick(4)) ?? null;
    const batch: NewCheckpoint[] = [];
    for (let step = this.#pick(20); step >= 0; step--) {
      batch.push(this.#checkpoint(run_id, at));
      at = this.#last;
    }
    const half = this.#pick(batch.length + 1);
    for (const some of [batch.slice(0, half), batch.slice(half)]) {
      checkpoints.put(
        run_id,
        some,
        some.flatMap((one) => this.#writesOf(one)),
      );
      // Tasks write onto checkpoints of earlier batches too, and a retry writes again.
      const later = some.flatMap((one) => [this.#laterWritesOf(one), this.#laterWritesOf(one)]);
      for (const writes of later) {
        checkpoints.put(run_id, [], writes);
        if (this.#pick(2) === 0) this.#verifyNewest(checkpoints);
      }
    }
    this.#verifyNewest(checkpoints);
  }

  /** The newest is in memory, unless it is read by its id. */
  #verifyNewest(checkpoints: Checkpoints) {
    const newest = checkpoints.read("", null);
    expect(newest).toEqual(checkpoints.read("", newest?.checkpoint_id ?? ""));
  }

  /** Sometimes a copy of the checkpoint, which has the parent of its original. */
  #checkpoint(run_id: string, at: number | null): NewCheckpoint {
    const from = at === null ? undefined : this.#models.get(at);
    const copied = this.#pick(8) === 0 ? from : undefined;
    const parent = copied ? copied.parent : at;
    const versions = { ...from?.versions };
    const channels = copied ? [] : Array.from({ length: this.#pick(6) }, () => this.#pick(12));
    const values = [...new Set(channels)].flatMap((n) => this.#value(versions, `channel ${n}`));
    this.#last++;
    this.#models.set(this.#last, { run_id, parent, versions });
    return { ...checkpoint(this.#last, parent, versions), values };
  }

  /** A new version, sometimes without a value. */
  #value(versions: Record<string, number>, channel: string): StoredValue[] {
    const version = ++this.#version;
    versions[channel] = version;
    if (this.#pick(3) === 0) return [];
    const text = "ä".repeat(this.#pick(this.#pick(4) === 0 ? 3000 : 200));
    this.#texts.set(`${channel} ${version}`, text);
    return [{ channel, version, type: "json", data: bytes(text) }];
  }

  #writesOf({ checkpoint_id }: NewCheckpoint): NewWrite[] {
    const n = Number(checkpoint_id.slice(3));
    const expected = new Map<string, string>();
    this.#writes.set(n, expected);
    return Array.from({ length: this.#pick(4) }, () => {
      const [task_id, idx] = [`task ${this.#pick(2)}`, this.#pick(4) - 1];
      const text = "w".repeat(this.#pick(30) === 0 ? 70_000 : this.#pick(100));
      const key = `${task_id} ${idx}`;
      if (idx < 0 || !expected.has(key)) expected.set(key, text);
      return write(n, task_id, idx, text);
    });
  }

  #laterWritesOf({ checkpoint_id }: NewCheckpoint): NewWrite[] {
    const n = Number(checkpoint_id.slice(3));
    const expected = this.#writes.get(n) ?? new Map<string, string>();
    return Array.from({ length: this.#pick(5) }, () => {
      const [task_id, idx] = [["task 0", "later", ""][this.#pick(3)] ?? "", this.#pick(4)];
      const text = "w".repeat(this.#pick(30) === 0 ? 70_000 : this.#pick(100));
      const key = `${task_id} ${idx}`;
      if (!expected.has(key)) expected.set(key, text);
      return write(n, task_id, idx, text);
    });
  }

  delete(checkpoints: Checkpoints, run_id: string) {
    checkpoints.deleteOf(run_id);
    for (const [n, model] of this.#models) if (model.run_id === run_id) this.#models.delete(n);
  }

  verify(checkpoints: Checkpoints) {
    const text = ({ data }: { data: Uint8Array }) => new TextDecoder().decode(data);
    for (const [n, { versions }] of this.#models) {
      const loaded = checkpoints.read("", idOf(n));
      const values = Object.entries(versions).flatMap(([channel, version]) => {
        const expected = this.#texts.get(`${channel} ${version}`);
        return expected === undefined ? [] : [[channel, version, expected]];
      });
      expect([n, loaded?.values.map((v) => [v.channel, v.version, text(v)])]).toEqual([n, values]);
      const writes = loaded?.writes.map((w) => [`${w.task_id} ${w.idx}`, text(w)]).sort();
      expect([n, writes]).toEqual([n, [...(this.#writes.get(n) ?? [])].sort()]);
    }
    return this.#models.size;
  }
}

test.each([1, 2, 3])(
  "forks, copies and deletions leave each checkpoint its values and writes (%i)",
  async (seed) => {
    await withCheckpoints((checkpoints) => {
      const runs = new RandomRuns(seed);
      checkpoints.startEmpty();
      for (let n = 0; n < 60; n++) {
        runs.put(checkpoints, `run ${n}`);
        if (n % 5 === 4) runs.delete(checkpoints, `run ${(n * 7) % (n + 1)}`);
      }
      expect(runs.verify(checkpoints)).toBeGreaterThan(100);
    });
  },
);

test("a value that many checkpoints keep is stored in few rows", async () => {
  await withCheckpoints((checkpoints, sql) => {
    const versions = { kept: 1, large: 2, step: 3 };
    const value = (channel: keyof typeof versions, length: number): StoredValue => ({
      ...{ channel, version: versions[channel], type: "json", data: bytes("x".repeat(length)) },
    });
    const first = [value("kept", 100), value("large", 3000), value("step", 10)];
    checkpoints.put("run", [{ ...checkpoint(1, null, versions), values: first }], []);
    expect(count(sql, "channel_values")).toBe(0);
    for (let n = 2; n < 50; n++) {
      versions.step = n + 2;
      const values = [value("step", 10)];
      checkpoints.put("run", [{ ...checkpoint(n, n - 1, versions), values }], []);
    }
    expect(count(sql, "channel_values")).toBe(1);
    const last = checkpoints.read("", null);
    expect(last?.values.map(({ channel, data }) => [channel, data.byteLength])).toEqual([
      ["kept", 100],
      ["large", 3000],
      ["step", 10],
    ]);
  });
});

test("a checkpoint that is stored again keeps its earlier values and writes", async () => {
  await withCheckpoints((checkpoints) => {
    const value = { channel: "a", version: 1, type: "json", data: bytes("1") };
    const first = { ...checkpoint(1, null, { a: 1 }), values: [value] };
    checkpoints.put("run", [first], [write(1, "task", 0, "first")]);
    const again = { ...checkpoint(1, null, { a: 1 }), values: [], metadata: '{"again":true}' };
    checkpoints.put("run", [again], [write(1, "task", 0, "again"), write(1, "task", 1, "new")]);
    const loaded = checkpoints.read("", idOf(1));
    expect(loaded?.metadata).toBe('{"again":true}');
    expect(loaded?.values).toEqual([value]);
    const text = ({ idx, data }: StoredWrite) => [idx, new TextDecoder().decode(data)];
    expect(loaded?.writes.map(text)).toEqual([
      [0, "first"],
      [1, "new"],
    ]);
  });
});

test("the short writes of a batch onto an earlier checkpoint take one row", async () => {
  await withCheckpoints((checkpoints, sql) => {
    checkpoints.put("run", [{ ...checkpoint(1, null, {}), values: [] }], []);
    const writes = [0, 1, 2].map((idx) => write(1, "task", idx, `text ${idx}`));
    checkpoints.put("run", [{ ...checkpoint(2, 1, {}), values: [] }], writes);
    expect(count(sql, "writes")).toBe(1);
    checkpoints.put("run", [], [...writes, write(1, "other", 0, "text")]);
    expect(count(sql, "writes")).toBe(2);
    const keys = checkpoints.read("", idOf(1))?.writes.map(({ task_id, idx }) => [task_id, idx]);
    expect(keys).toEqual([...writes.map(({ idx }) => ["task", idx]), ["other", 0]]);
  });
});

/** Counts the rows that statements read once their results are read. */
function countReads(sql: SqlStorage) {
  const cursors: { rowsRead: number }[] = [];
  const exec = (query: string, ...bindings: unknown[]) => {
    const cursor = sql.exec(query, ...bindings);
    cursors.push(cursor);
    return cursor;
  };
  const counted = { exec } as unknown as SqlStorage;
  return { counted, reads: () => cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0) };
}

test("short writes are stored after a run with earlier ones at the checkpoint is deleted", async () => {
  await withCheckpoints((checkpoints) => {
    const put = (run_id: string, ...tasks: string[]) => {
      const writes = tasks.map((task) => write(1, task, 0, run_id));
      checkpoints.put(run_id, [], writes);
    };
    checkpoints.put("first", [{ ...checkpoint(1, null, {}), values: [] }], []);
    put("failed", "a", "b");
    put("resumed", "c", "d");
    checkpoints.deleteOf("failed");
    put("last", "e", "f");
    const writes = checkpoints.read("", idOf(1))?.writes ?? [];
    expect(writes.map(({ task_id }) => task_id)).toEqual(["c", "d", "e", "f"]);
  });
});

test("the first of two large writes of a task counts", async () => {
  await withCheckpoints((checkpoints) => {
    const put = (text: string) =>
      checkpoints.put("run", [], [write(1, "task", 0, text.repeat(2 * 1024 * 1024))]);
    checkpoints.put("run", [{ ...checkpoint(1, null, {}), values: [] }], []);
    put("a");
    put("b");
    const [stored] = checkpoints.read("", idOf(1))?.writes ?? [];
    expect(stored?.data.at(0)).toBe("a".charCodeAt(0));
  });
});

test("a rollback keeps the write of a state update that replaced the run's own", async () => {
  await withCheckpoints((checkpoints) => {
    const replace = (run_id: string | null, text: string) =>
      checkpoints.put(run_id, [], [write(1, "task", -1, text)]);
    checkpoints.put("first", [{ ...checkpoint(1, null, {}), values: [] }], []);
    replace("first", "of the first run");
    replace("second", "of the second run");
    replace(null, "of the update");
    checkpoints.deleteOf("second");
    const writes = checkpoints.read("", idOf(1))?.writes ?? [];
    expect(writes.map(({ data }) => new TextDecoder().decode(data))).toEqual(["of the update"]);
  });
});

test("tasks of a wide fan-out that end one by one do not read the writes of the others", async () => {
  const TASKS = 400;
  const outputs = (task: number, text: string) =>
    [0, 1].map((idx) => write(1, `task ${task}`, idx, `${text} ${task}`));
  await withCheckpoints((_, sql) => {
    const { counted, reads } = countReads(sql);
    const checkpoints = new Checkpoints(threadTables(counted), new Parts(threadTables(sql)));
    checkpoints.put("run", [{ ...checkpoint(1, null, {}), values: [] }], []);
    for (let task = 0; task < TASKS; task++) checkpoints.put("run", [], outputs(task, "first"));
    expect(reads()).toBeLessThan(10 * TASKS);

    // A retry of a task, of which the first writes count.
    checkpoints.put("retry", [], [...outputs(7, "again"), ...outputs(TASKS, "new")]);
    const textOf = (task: number) => {
      const writes = checkpoints.read("", idOf(1))?.writes ?? [];
      const own = writes.filter(({ task_id }) => task_id === `task ${task}`);
      return own.map(({ data }) => new TextDecoder().decode(data));
    };
    expect(textOf(7)).toEqual(["first 7", "first 7"]);
    expect(textOf(TASKS)).toEqual([`new ${TASKS}`, `new ${TASKS}`]);
    checkpoints.deleteOf("run");
    checkpoints.put("retry", [{ ...checkpoint(1, null, {}), values: [] }], []);
    checkpoints.put("retry", [], outputs(7, "last"));
    expect(textOf(7)).toEqual(["last 7", "last 7"]);
  });
});

test("runs that follow each other read no checkpoint", async () => {
  await withCheckpoints((_, sql) => {
    const statements: string[] = [];
    const exec = (query: string, ...bindings: unknown[]) => {
      statements.push(query);
      return sql.exec(query, ...bindings);
    };
    const tables = threadTables({ exec, databaseSize: 1 } as unknown as SqlStorage);
    const checkpoints = new Checkpoints(tables, new Parts(threadTables(sql)));
    const value = (version: number): StoredValue => ({
      ...{ channel: "a", version, type: "json", data: bytes(`${version}`) },
    });
    checkpoints.startEmpty();
    for (let n = 1; n < 20; n += 2) {
      const [first, second] = [n, n + 1].map((id) => ({
        ...checkpoint(id, id === 1 ? null : id - 1, { kept: 1, a: id }),
        values: id === 1 ? [value(1), { ...value(1), channel: "kept" }] : [value(id)],
      }));
      if (first && second) checkpoints.put(`run ${n}`, [first, second], [write(n, "task", 0, "x")]);
      const texts = checkpoints
        .read("", null)
        ?.values.map(({ data }) => new TextDecoder().decode(data));
      expect([texts, checkpoints.headBytes()]).toEqual([["1", `${n + 1}`], 0]);
    }
    expect(statements.filter((statement) => !statement.startsWith("INSERT"))).toEqual([]);
  });
});

test("a checkpoint of almost a row stores its values apart", async () => {
  await withCheckpoints((checkpoints, sql) => {
    const value = { channel: "a", version: 1, type: "json", data: bytes("x".repeat(4000)) };
    const large = { ...checkpoint(1, null, { a: 1 }), metadata: `"${"x".repeat(1_880_000)}"` };
    checkpoints.put("run", [{ ...large, values: [value] }], [write(1, "task", 0, "text")]);
    expect([count(sql, "channel_values"), count(sql, "writes")]).toEqual([1, 1]);
    expect(checkpoints.read("", null)).toMatchObject({ values: [value], writes: [{ idx: 0 }] });
  });
});

test("a copy whose original would be looked for in too much is refused", async () => {
  await withCheckpoints((checkpoints, sql) => {
    const pad = "x".repeat(1_500_000);
    for (let n = 1; n <= 24; n++) {
      const text = JSON.stringify({ channel_versions: { a: n }, pad });
      checkpoints.put("run", [{ ...checkpoint(n, n - 1, {}), checkpoint: text, values: [] }], []);
    }
    const copy = { ...checkpoint(25, 0, { a: 1, b: 1 }), values: [] };
    expect(() => checkpoints.put("run", [copy], [])).toThrow("copy a newer checkpoint");
    expect(count(sql, "checkpoints")).toBe(24);
  });
});

test("an object of the version before has its values and writes", async () => {
  await inStorage((storage) => {
    const { sql } = storage;
    migrate(storage, MIGRATIONS.slice(0, 1));
    createLazyTables(sql);
    sql.exec(
      `INSERT INTO checkpoints VALUES ('', 'id-000001', NULL, 'run', '{"channel_versions":{"a":1}}', '{}')`,
    );
    sql.exec("INSERT INTO channel_values VALUES ('', 'a', 1, 'run', 'json', x'31', NULL)");
    sql.exec(
      "INSERT INTO writes VALUES ('', 'id-000001', 'task', '', 0, 'run', 'c', 'json', x'32')",
    );
    migrate(storage, MIGRATIONS);
    createLazyTables(storage.sql);
    const tables = threadTables(sql);
    const checkpoints = new Checkpoints(tables, new Parts(tables));
    checkpoints.put("run", [{ ...checkpoint(2, 1, { a: 1 }), values: [] }], []);
    for (const n of [1, 2]) {
      const values = [{ channel: "a", version: 1, type: "json", data: bytes("1") }];
      expect(checkpoints.read("", idOf(n))).toMatchObject({ values });
    }
    expect(checkpoints.read("", idOf(1))?.writes).toHaveLength(1);
  });
});

test("a new thread has the tables that the steps make", async () => {
  const tablesOf = (prepare: (storage: DurableObjectStorage) => void) =>
    inStorage((storage) => {
      prepare(storage);
      const columns = storage.sql.exec(
        `SELECT tables.name, tables.wr, columns.name AS column, columns.type, columns."notnull",
           columns.dflt_value, columns.pk
         FROM pragma_table_list AS tables, pragma_table_info(tables.name) AS columns
         WHERE tables.schema = 'main' AND tables.name NOT GLOB '_cf_*'
         ORDER BY tables.name, columns.name`,
      );
      return columns.toArray();
    });
  const bySteps = await tablesOf((storage) => migrate(storage, MIGRATIONS));
  expect(await tablesOf((storage) => migrate(storage, MIGRATIONS, SCHEMA))).toEqual(bySteps);
  expect(bySteps.length).toBeGreaterThan(50);
});

const OLD_RUN = {
  ...{ run_id: "run", seq: 1, assistant_id: "assistant", graph_id: "echo", status: "success" },
  ...{ multitask_strategy: "enqueue", metadata: '{"a":1}', kwargs: '{"input":"old"}' },
  ...{ revision: '{"revision_id":"old"}', created_at: "2026-01-01", updated_at: "2026-01-01" },
  ...{ due_at: 0, attempt: 1, event_characters: 0, created_by: '{"origin":"old"}' },
};

test("a run of the version before has its request", async () => {
  await inStorage((storage) => {
    migrate(storage, MIGRATIONS.slice(0, 2));
    createLazyTables(storage.sql);
    const columns = Object.keys(OLD_RUN);
    storage.sql.exec(
      `INSERT INTO runs (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
      ...Object.values(OLD_RUN),
    );
    storage.sql.exec(
      `INSERT INTO thread (only, thread_id, deployment_id, workspace_id, created_at, updated_at, status,
         metadata, config, interrupts, temporary, directory_seq)
       VALUES (1, 'thread', 'deployment', 'workspace', '', '', 'idle', '{}', '{}', '{}', 0, 1)`,
    );
    const { runs } = new ThreadStore(storage);
    const expected = { metadata: { a: 1 }, kwargs: { input: "old" }, thread_id: "thread" };
    expect(runs.get("run")).toMatchObject({
      ...expected,
      revision: { revision_id: "old" },
      created_by: { origin: "old" },
    });
    expect(runs.list({ limit: 1, offset: 0 })).toMatchObject([expected]);
  });
});
