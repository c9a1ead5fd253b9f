// The main script's entry for `npm run soak:traces`. A client can request at once what partitions otherwise do after
// hours or days.

import { isBeingExported } from "../../src/exports/rows.ts";
import { TracePartition as Product, type QueueMessage } from "../../src/index.ts";
import type { PartitionKey } from "../../src/traces/changes.ts";
import { consumeTraceExpiry } from "../../src/traces/deletion/expiry.ts";
import { tracePrefix } from "../../src/traces/storage/sealed-files.ts";
import worker from "./index.ts";

// Named exports win over those of the star.
export * from "./index.ts";

const PATH = "/soak/";
const LATER_MS = 2 * 60 * 60 * 1000;

export class TracePartition extends Product {
  /** Runs the alarm as if two quiet hours had passed. */
  async ring(): Promise<void> {
    const { now } = Date;
    Date.now = () => now() + LATER_MS;
    try {
      await this.alarm();
    } finally {
      Date.now = now;
    }
  }

  /** Returns the keys of R2 that the partition refers to. */
  async keys(): Promise<string[]> {
    const { kv, sql } = this.ctx.storage;
    const sealed = kv.get<{ key: string }[]>("sealed_files") ?? [];
    const bodies = sql.exec<{ key: string }>("SELECT key FROM cold_bodies").toArray();
    return [...sealed, ...bodies].map(({ key }) => key);
  }
}

type Stub = Pick<TracePartition, "ring" | "keys">;

async function listObjects(env: Env, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await env.ARTIFACTS.list({ prefix, ...(cursor && { cursor }) });
    keys.push(...page.objects.map(({ key }) => key));
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor);
  return keys;
}

async function handle(what: string, env: Env, { project_id, day }: PartitionKey) {
  const partition = { project_id, day, slot: 0 };
  // The binding has the type of the product's class, but the objects are of the class above.
  const object = env.PARTITIONS.getByName(`${project_id}/${day}/0`) as unknown as Stub;
  if (what === "ring") return object.ring();
  if (what === "expire") return consumeTraceExpiry(env, partition, isBeingExported);
  if (what === "keys") return object.keys();
  return listObjects(env, tracePrefix(project_id));
}

export default {
  ...worker,
  fetch: async (request, env, ctx) => {
    const url = new URL(request.url);
    if (!url.pathname.startsWith(PATH)) return worker.fetch(request, env, ctx);
    const param = (name: string) => url.searchParams.get(name) ?? "";
    const partition = { project_id: param("project"), day: param("day"), slot: 0 };
    return Response.json((await handle(url.pathname.slice(PATH.length), env, partition)) ?? null);
  },
} satisfies ExportedHandler<Env, QueueMessage>;
