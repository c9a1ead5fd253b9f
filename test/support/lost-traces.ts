import { runInDurableObject } from "cloudflare:test";
import { stubOf } from "./agent-traces.ts";
import { createLazyTables } from "./thread-tables.ts";
import type { testThread } from "./threads.ts";

type Thread = Pick<Awaited<ReturnType<typeof testThread>>, "place" | "object">;

/** Puts the trace of an ended run into the state in which a lost isolate leaves one that it has sent nothing of. */
export async function loseTrace({ place, object }: Thread) {
  await runInDurableObject(stubOf(place), (_instance, { storage }) => {
    const start_time = new Date().toISOString();
    const trace = { start_time, project_name: null, hasRoot: false, open: {} };
    createLazyTables(storage.sql);
    storage.sql.exec("DELETE FROM trace_outbox");
    storage.sql.exec("UPDATE events SET traces = NULL");
    storage.sql.exec("UPDATE runs SET trace = ?", JSON.stringify(trace));
  });
  await runInDurableObject(stubOf(place), (_instance, state) => state.abort("crash")).catch(
    () => {},
  );
  await object.getThread();
}
