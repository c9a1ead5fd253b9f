import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { AsyncLocalStorage } from "node:async_hooks";
import { CronObject } from "../../src/agent-server/crons/object.ts";
import { DirectoryObject } from "../../src/agent-server/threads/directory/object.ts";
import { ThreadObject } from "../../src/agent-server/threads/object/object.ts";
import { LocationObject } from "../../src/traces/locations/object.ts";
import { TracePartition } from "../../src/traces/object/object.ts";
import { countedExec } from "./rows-written.ts";

/** Work that the platform bills. `timer_ms`: the longest timer of a thread that began after `endOfRun` and ended. */
const NOTHING = {
  ...{ thread_rows: 0, thread_requests: 0, timer_ms: 0 },
  ...{ trace_rows: 0, trace_requests: 0, flushes: 0, flush_rows: 0 },
  ...{ directory_requests: 0, directory_rows: 0, catalogue_writes: 0, catalogue_rows: 0 },
  ...{ location_requests: 0, location_rows: 0, cron_requests: 0, cron_rows: 0 },
  d1_reads: 0,
};
const NO_STATEMENT = /^\b$/;

export type CountedWork = typeof NOTHING;

type Method = (this: object, ...args: unknown[]) => unknown;
type Restore = () => void;

/** Replaces a method of a prototype until the returned function is called. */
function wrap(prototype: object, name: string, wrapper: (original: Method) => Method): Restore {
  const original = Reflect.get(prototype, name) as Method;
  Reflect.set(prototype, name, wrapper(original));
  return () => Reflect.set(prototype, name, original);
}

/**
 * Counts the work of objects and statements whose names or parameters contain an id of `ids`: all objects share
 * the isolate of the tests, those of other tests too. `leavesOut`: statements that are not counted as reads.
 */
export async function countWork(ids: readonly string[], leavesOut: RegExp = NO_STATEMENT) {
  const work = { ...NOTHING };
  let isEnded = false;
  const isOwn = (text: string) => ids.some((id) => text.includes(id));
  const restores = [
    ...countRequests(work, isOwn),
    ...(await countRows(work)),
    ...countStatements(work, isOwn, leavesOut),
    countTimers(work, () => isEnded),
  ];
  return {
    work,
    endOfRun: () => {
      isEnded = true;
    },
    stop: () => {
      for (const restore of restores) restore();
      return work;
    },
  };
}

type Owner = "thread" | "trace" | "directory" | "location" | "cron";
const owners = new WeakMap<object, Owner>();
/** Owner of the object whose call began the present work. */
const currentOwner = new AsyncLocalStorage<Owner | null>();

/** A timer that is cleared keeps no object awake. */
function countTimers(work: CountedWork, isEnded: () => boolean): Restore {
  return wrap(
    globalThis,
    "setTimeout",
    (original) =>
      function (this: object, task, ms = 0, ...args) {
        const isCounted = isEnded() && currentOwner.getStore() === "thread";
        const counted = (...values: unknown[]) => {
          if (isCounted) work.timer_ms = Math.max(work.timer_ms, Number(ms));
          (task as Method).apply(globalThis, values);
        };
        return original.call(this, counted, ms, ...args);
      },
  );
}

/** Each call of an object by RPC is a request, and so is an alarm. Finds the owners of the storage. */
function countRequests(work: CountedWork, isOwn: (name: string) => boolean): Restore[] {
  const classes = [
    [ThreadObject.prototype, "thread"],
    [TracePartition.prototype, "trace"],
    [DirectoryObject.prototype, "directory"],
    [LocationObject.prototype, "location"],
    [CronObject.prototype, "cron"],
  ] as const;
  return classes.flatMap(([prototype, owner]) =>
    methodsOf(prototype).map((name) =>
      wrap(
        prototype,
        name,
        (original) =>
          function (this: object, ...args) {
            const { id, storage } = Reflect.get(this, "ctx") as DurableObjectState;
            const call = () => original.apply(this, args);
            if (!isOwn(id.name ?? "")) return currentOwner.run(null, call);
            countRequest(work, owner, name, storage);
            return currentOwner.run(owner, call);
          },
      ),
    ),
  );
}

function countRequest(
  work: CountedWork,
  owner: Owner,
  name: string,
  storage: DurableObjectStorage,
) {
  if (owner === "trace" && name === "alarm") work.flushes += 1;
  else work[`${owner}_requests`] += 1;
  for (const part of [storage, storage.sql, storage.kv]) owners.set(part, owner);
}

function methodsOf(prototype: object): string[] {
  return Object.getOwnPropertyNames(prototype).filter((name) => name !== "constructor");
}

/** Rows of statements, of values by key and of alarms. */
async function countRows(work: CountedWork): Promise<Restore[]> {
  const stub = env.THREADS.getByName("counter") as DurableObjectStub<ThreadObject>;
  const prototypes = await runInDurableObject(stub, (_, { storage }) =>
    [storage, storage.sql, storage.kv].map((part) => Object.getPrototypeOf(part) as object),
  );
  const [storage, sql, kv] = prototypes as [object, object, object];
  const oneRow = (isAlarm: boolean) => (original: Method) =>
    function (this: object, ...args: unknown[]) {
      const owner = owners.get(this);
      if (owner === "trace" && isAlarm) work.flush_rows += 1;
      else if (owner) work[`${owner}_rows`] += 1;
      return original.apply(this, args);
    };
  const counted = (exec: Method) =>
    countedExec(exec as SqlStorage["exec"], (sql) => {
      const owner = owners.get(sql);
      if (!owner) return null;
      return (_, rows) => {
        work[`${owner}_rows`] += rows;
      };
    }) as Method;
  return [
    wrap(sql, "exec", counted),
    wrap(kv, "put", oneRow(false)),
    wrap(storage, "setAlarm", oneRow(true)),
  ];
}

/** The statement that an isolate sends each second for all that it keeps. */
export const FEED = /from "changes"/;

/** Statements of D1, of batches too. */
function countStatements(
  work: CountedWork,
  isOwn: (text: string) => boolean,
  leavesOut: RegExp,
): Restore[] {
  const count = (target: object) => {
    const query = String(Reflect.get(target, "statement"));
    const isRead = /^\s*(select|with)\b/i.test(query);
    const isOurs = isOwn(JSON.stringify(Reflect.get(target, "params")));
    if (isRead && !leavesOut.test(query) && (isOurs || FEED.test(query))) work.d1_reads += 1;
    if (isRead || !isOurs) return false;
    work.catalogue_writes += 1;
    return true;
  };
  const addRows = (isCounted: boolean, result: unknown) => {
    if (isCounted) work.catalogue_rows += (result as D1Result).meta.rows_written;
  };
  const single = (name: string) =>
    wrap(
      Object.getPrototypeOf(env.DB.prepare("SELECT 1")),
      name,
      (original) =>
        async function (this: object, ...args) {
          const isCounted = count(this);
          const result = await original.apply(this, args);
          if (name === "run") addRows(isCounted, result);
          return result;
        },
    );
  const batch = wrap(
    Object.getPrototypeOf(env.DB),
    "batch",
    (original) =>
      async function (this: object, ...args) {
        const areCounted = (args[0] as object[]).map(count);
        const results = (await original.apply(this, args)) as unknown[];
        for (const [n, result] of results.entries()) addRows(areCounted[n] ?? false, result);
        return results;
      },
  );
  return [...["run", "all", "raw", "first"].map(single), batch];
}
