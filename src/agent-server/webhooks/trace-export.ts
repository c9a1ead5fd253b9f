import { servedRevision } from "../../control-plane/deployments/api/service.ts";
import { readVariables } from "../../control-plane/deployments/isolate/revision-code.ts";
import { database, jobContext } from "../../shared/context.ts";
import { egressPolicy, safeFetch } from "../../shared/egress/egress.ts";
import { VERSION } from "../../shared/http/version.ts";
import { TtlCache } from "../../shared/work/ttl-cache.ts";
import { requestBodies } from "../../traces/otlp/outgoing/request-batches.ts";
import { isExportOn, otlpTarget } from "../../traces/otlp/outgoing/target.ts";
import { extendLease, sendWebhooks, type WebhookRow } from "./lease.ts";
import { ATTEMPT_MS } from "./limits.ts";
import { DELIVERED, type DeliveryOutcome, failure, outcomeOf } from "./pauses.ts";
import { exportId, run_webhooks } from "./table.ts";

type TraceOwner = { workspace_id: string; deployment_id: string };
/** `thread_id`: with split traffic the thread decides which revision, and so which variables apply. */
type EndedTrace = { trace_id: string; thread_id: string };

/** The last spans of a trace may arrive a moment after its root. */
const SETTLE_SECONDS = 5;
const BAD_REQUEST = 400;

/**
 * Enqueues the export of ended traces to the OTLP endpoint of their deployment, if its variables have one. An endpoint
 * that cannot be used is enqueued too, with an empty URL: its delivery fails with the reason. Idempotent.
 */
export async function enqueueTraceExports(
  env: Env,
  owner: TraceOwner,
  traces: readonly EndedTrace[],
): Promise<void> {
  const exported: (EndedTrace & { url: string })[] = [];
  for (const trace of traces) {
    const url = await findUrl(env, owner.deployment_id, trace.thread_id);
    if (url !== null) exported.push({ ...trace, url });
  }
  if (exported.length === 0) return;
  const now = new Date();
  const due = new Date(now.getTime() + SETTLE_SECONDS * 1000);
  const times = { due_at: due.toISOString(), sent_at: now.toISOString() };
  const waiting = { status: "pending" as const, attempt: 0, attempts: [] };
  const rows = exported.map((trace) => ({
    ...{ ...trace, run_id: exportId(trace.trace_id), created_at: now.toISOString() },
    ...{ ...owner, ...times, ...waiting },
  }));
  const db = database(env);
  const [first, ...others] = rows.map((row) =>
    db.insert(run_webhooks).values(row).onConflictDoNothing(),
  );
  if (first) await db.batch([first, ...others]);
  const ids = rows.map(({ run_id }) => run_id);
  await sendWebhooks(env, ids, SETTLE_SECONDS);
}

/** URLs by revision and version of the secrets: both together determine the variables. */
const urls = new TtlCache<string | null>(60 * 60 * 1000);

/**
 * @returns the URL of the endpoint, `null` when the deployment exports no traces, `""` when the endpoint cannot be used
 */
async function findUrl(env: Env, deployment_id: string, thread_id: string): Promise<string | null> {
  const revision = await servedRevision(env, deployment_id, thread_id);
  if (revision === null) return null;
  const { revision_id, secrets_version } = revision;
  return urls.get(`${revision_id}/${secrets_version}`, async () => {
    const variables = await readVariables(env, revision);
    if (!isExportOn(variables)) return null;
    const target = otlpTarget(variables, revision.name);
    return typeof target === "string" ? "" : target.url;
  });
}

/** Sends the spans of a trace. A retry sends all of them again: receivers deduplicate spans by their ids. */
export async function exportTrace(
  env: Env,
  row: WebhookRow,
  trace_id: string,
): Promise<DeliveryOutcome> {
  const revision = await servedRevision(env, row.deployment_id, row.thread_id);
  if (!revision) return failure("The deployment serves no revision.");
  const variables = await readVariables(env, revision);
  if (!isExportOn(variables)) return failure("The deployment no longer exports traces.", true);
  const target = otlpTarget(variables, revision.name);
  if (typeof target === "string") return failure(target, true);
  const headers = { "user-agent": `Heddle/${VERSION}`, ...target.headers };
  const ctx = jobContext(env, row.workspace_id, "otlp");
  let outcome: DeliveryOutcome = DELIVERED;
  for await (const body of requestBodies(ctx, trace_id, target.resource)) {
    await extendLease(env, row);
    outcome = await post(env, target.url, { headers, body });
    if (outcome.error !== null) return outcome;
  }
  return outcome;
}

async function post(
  env: Env,
  url: string,
  { headers, body }: { headers: Record<string, string>; body: Uint8Array<ArrayBuffer> },
): Promise<DeliveryOutcome> {
  const init = { method: "POST", body, headers: { ...headers, ...PROTOBUF } };
  // The body of the answer is not read.
  const limits = { timeout_ms: ATTEMPT_MS, max_bytes: Number.MAX_SAFE_INTEGER };
  const policy = egressPolicy(env, "webhooks");
  const response = await safeFetch(policy, url, init, { ...limits, redirects: "answer" });
  await response.body?.cancel();
  const outcome = outcomeOf(response.status, response.headers, new Date());
  // OTLP forbids retries after 400: the request is malformed.
  return response.status === BAD_REQUEST ? { ...outcome, is_final: true } : outcome;
}

const PROTOBUF = { "content-type": "application/x-protobuf" };
