// The main script's entry for `npm run soak -- --faults`: calls of D1 and R2 fail at random while a client requests it.
import { env } from "cloudflare:workers";
import type { QueueMessage } from "../../src/index.ts";
import worker from "./index.ts";

export * from "./index.ts";

const FAULTS_PATH = "/soak/faults";
/** Stores whose calls fail. */
const STORES = ["D1", "R2"];
/** Time after a request in which calls fail, so that faults end with their client. */
const ARMED_MS = 3000;

type Method = (this: object, ...args: unknown[]) => Promise<unknown>;

let share = 0;
let stores = STORES;
let armed_until = 0;
let isPatched = false;
let failures = 0;

/** Replaces methods by ones that may fail. Half of the failed calls are made first: only their answer is lost. */
function makeFaulty(prototype: object, names: readonly string[], store: string): void {
  for (const name of names) {
    const original = Reflect.get(prototype, name) as Method;
    const faulty: Method = async function (...args) {
      const isArmed = Date.now() <= armed_until && stores.includes(store);
      if (!isArmed || Math.random() >= share) return original.apply(this, args);
      failures += 1;
      if (Math.random() < 0.5) await original.apply(this, args);
      throw new Error(`${store}_ERROR: an injected fault of ${name}`);
    };
    Reflect.set(prototype, name, faulty);
  }
}

function patch(): void {
  if (isPatched) return;
  isPatched = true;
  const statement = Object.getPrototypeOf(env.DB.prepare("SELECT 1")) as object;
  makeFaulty(statement, ["run", "all", "raw", "first"], "D1");
  makeFaulty(Object.getPrototypeOf(env.DB) as object, ["batch"], "D1");
  const bucket = Object.getPrototypeOf(env.ARTIFACTS) as object;
  makeFaulty(bucket, ["get", "head", "put", "delete", "list"], "R2");
}

/**
 * `PUT /soak/faults?share=0.1&store=D1`: makes this share of the calls fail for three seconds. Returns the number of
 * failures so far.
 */
function arm(url: URL): Response {
  patch();
  share = Number(url.searchParams.get("share"));
  const store = url.searchParams.get("store");
  stores = store === null ? STORES : [store];
  armed_until = Date.now() + ARMED_MS;
  return Response.json({ failures });
}

export default {
  ...worker,
  fetch: (request, bindings, ctx) => {
    const url = new URL(request.url);
    return url.pathname === FAULTS_PATH ? arm(url) : worker.fetch(request, bindings, ctx);
  },
} satisfies ExportedHandler<Env, QueueMessage>;
