import { database } from "../../../../shared/context.ts";
import { log } from "../../../../shared/log.ts";
import { someThreadsOf } from "../../directory/directory.ts";
import { deleteListed } from "../threads/deletion.ts";
import {
  type AssistantRow,
  deleteSomeOf,
  endPurge,
  listUnfinishedPurges,
} from "./assistant-rows.ts";

/** Maximum number of threads that one call deletes. */
const THREADS = 200;
/** Maximum number of purges that one sweep continues. */
const PURGES = 20;
/** Maximum number of rows of each table that one call deletes. */
const ROWS = 1000;

/** Deletes some of the assistant's threads that were created until its purge began. The sweep deletes the rest. */
export async function purgeThreads(env: Env, assistant: AssistantRow): Promise<void> {
  const { deployment_id, assistant_id, purge_at } = assistant;
  const threads = await someThreadsOf(env, deployment_id, {
    metadata: { assistant_id },
    created_until: purge_at ?? "",
    sort_order: "asc",
    limit: THREADS,
  });
  await deleteListed(env, threads);
  if (threads.length < THREADS) await endPurge(database(env), assistant);
}

/** Continues purges that a request or an earlier sweep did not finish. */
export async function sweepAssistants(env: Env, now: Date): Promise<void> {
  for (const assistant of await listUnfinishedPurges(database(env), now.toISOString(), PURGES)) {
    await purgeThreads(env, assistant).catch((error: unknown) =>
      log.error("assistant_purge_failed", error, { assistant_id: assistant.assistant_id }),
    );
  }
}

/** Deletes some assistants of a deployment that is being deleted. @returns whether all are deleted */
export function deleteAssistantsOf(env: Env, deployment_id: string): Promise<boolean> {
  return deleteSomeOf(database(env), deployment_id, ROWS);
}
