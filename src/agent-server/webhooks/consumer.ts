import { servedRevision } from "../../control-plane/deployments/api/service.ts";
import { agentServer } from "../../control-plane/deployments/isolate/callbacks.ts";
import { readVariables } from "../../control-plane/deployments/isolate/revision-code.ts";
import { isDatabaseOutage } from "../../shared/database/outage.ts";
import { egressPolicy, safeFetch } from "../../shared/egress/egress.ts";
import { AppError } from "../../shared/errors.ts";
import { VERSION } from "../../shared/http/version.ts";
import {
  claimNextWebhook,
  claimWebhook,
  sendNextWebhook,
  sendWebhooks,
  settleAttempt,
  type WebhookMessage,
  type WebhookRow,
} from "./lease.ts";
import { ATTEMPT_MS, PAUSES_SECONDS } from "./limits.ts";
import { type DeliveryOutcome, failure, outcomeOf, pauseAfter } from "./pauses.ts";
import { sendAdmitted } from "./payload-admission.ts";
import { payloadKey, readPayload } from "./payloads.ts";
import { hasTemplates, ownHeaders } from "./rules/own-headers.ts";
import { webhookSettings } from "./rules/settings.ts";
import { webhookProblem } from "./rules/url-rules.ts";
import { signingSecrets } from "./secret-service.ts";
import { signedHeaders, signedStart } from "./signature.ts";
import { exportTrace } from "./trace-export.ts";

const LAST_CUT_OFF =
  "No attempt is left: the process of the last one ended before the response arrived.";
const MISSING = "The payload is no longer stored.";
/** Maximum delay of a queue message. For a later attempt the sweep sends another message. */
const MAX_DELAY_SECONDS = 12 * 3_600;

/** Makes one attempt if the message can claim a delivery. A duplicate message cannot claim it again. */
export async function consumeWebhook(env: Env, message: WebhookMessage): Promise<void> {
  const now = new Date();
  const row =
    message.type === "run_webhook"
      ? await claimWebhook(env, message.run_webhook_id, now)
      : await claimNextWebhook(env, message.workspace_id, now);
  if (row !== null) await makeAttempt(env, row);
}

async function makeAttempt(env: Env, row: WebhookRow): Promise<void> {
  const started = new Date();
  const tries = row.attempt - row.attempts_before;
  // The process of the last attempt has ended, and another message has claimed the delivery.
  const isOver = tries > PAUSES_SECONDS.length + 1;
  const outcome = isOver ? failure(LAST_CUT_OFF, true) : await settled(send(env, row));
  const { status, error } = outcome;
  const duration_ms = Date.now() - started.getTime();
  const entry = { at: started.toISOString(), status, error, duration_ms };
  const pause = error === null ? null : pauseAfter(tries, outcome, Math.random());
  const due_at = new Date(Date.now() + (pause ?? 0) * 1000);
  const end = { status: statusAfter(outcome, pause), due_at };
  const { is_ours, is_requested, is_next_waiting } = await settleAttempt(env, row, entry, end);
  if (is_next_waiting) await sendNextWebhook(env, row.workspace_id);
  if (!is_ours) return;
  if (error === null && row.trace_id === null) await env.ARTIFACTS.delete(payloadKey(row));
  if (is_requested) await sendWebhooks(env, [row.run_id]);
  else if (pause !== null) await sendWebhooks(env, [row.run_id], delayOf(pause));
}

function statusAfter({ error }: DeliveryOutcome, pause: number | null): WebhookRow["status"] {
  if (error === null) return "delivered";
  return pause === null ? "failed" : "pending";
}

async function send(env: Env, row: WebhookRow): Promise<DeliveryOutcome> {
  if (row.trace_id !== null) return exportTrace(env, row, row.trace_id);
  const stored = await env.ARTIFACTS.head(payloadKey(row));
  if (!stored) return failure(MISSING, true);
  return sendAdmitted(env, row, stored.size, () => sendPayload(env, row));
}

async function sendPayload(env: Env, row: WebhookRow): Promise<DeliveryOutcome> {
  const now = new Date();
  const secrets = await signingSecrets(env, row.workspace_id, now);
  const own = await configuredHeaders(env, row);
  const payload = await env.ARTIFACTS.get(payloadKey(row));
  if (!payload) return failure(MISSING, true);
  const { signed, body } = await readPayload(payload, signedStart(row.run_id, now), now);
  const standard = await signedHeaders(row.run_id, now, signed, secrets);
  const headers = { ...own, "content-type": "application/json", ...standard };
  const { status, headers: answered } = await request(env, row, { headers, body });
  return outcomeOf(status, answered, new Date());
}

/** Turns errors of the receiver or the configuration into a failure. Throws internal errors and outages of the database. */
async function settled(attempt: Promise<DeliveryOutcome>): Promise<DeliveryOutcome> {
  try {
    return await attempt;
  } catch (error) {
    const { code, message } = AppError.from(error);
    if (code === "internal" || isDatabaseOutage(error)) throw error;
    return failure(message, code === "invalid_request");
  }
}

/** Reads the revision that serves now, so that changed rules and secrets apply to pending deliveries. */
async function configuredHeaders(env: Env, row: WebhookRow): Promise<Record<string, string>> {
  const standard = { "user-agent": `Heddle/${VERSION}` };
  if (row.alert_id !== null) return standard;
  const revision = await servedRevision(env, row.deployment_id, row.thread_id);
  if (!revision) throw new AppError("unavailable", "The agent is temporarily unavailable.");
  const settings = webhookSettings(revision.config);
  const broken = webhookProblem(row.url, settings);
  if (broken !== null) throw new AppError("invalid_request", `The webhook ${broken}.`);
  const variables = hasTemplates(settings) ? await readVariables(env, revision) : {};
  return { ...standard, ...ownHeaders(settings, variables) };
}

/** A path is delivered to the agent's own app, as the user of the run. */
function request(env: Env, row: WebhookRow, init: RequestInit): Promise<Response> {
  return row.url.startsWith("/") ? sendToApp(row, init) : post(env, row.url, init);
}

async function sendToApp({ deployment_id, url, user }: WebhookRow, init: RequestInit) {
  const base_url = `https://agent.internal/agents/${deployment_id}`;
  const agent = { deployment_id, ref: deployment_id };
  const internal = { kind: "webhook", ...agent, user: user ?? null, depth: 0 } as const;
  const app = agentServer({ base_url, internal });
  const signal = AbortSignal.timeout(ATTEMPT_MS);
  const sent = { ...init, method: "POST", redirect: "manual", signal } as const;
  const response = await app
    .fetch(new URL(url, "https://agent.internal"), sent)
    .catch((cause: unknown) => {
      if (!signal.aborted) throw cause;
      const text = `The app did not answer within ${ATTEMPT_MS / 1000} s.`;
      throw new AppError("unavailable", text, { cause });
    });
  await response.body?.cancel();
  return response;
}

async function post(env: Env, url: string, init: RequestInit): Promise<Response> {
  const limits = { timeout_ms: ATTEMPT_MS, max_bytes: Number.MAX_SAFE_INTEGER };
  const response = await safeFetch(
    egressPolicy(env, "webhooks"),
    url,
    { ...init, method: "POST" },
    { ...limits, redirects: "answer" },
  );
  await response.body?.cancel();
  return response;
}

function delayOf(pause: number): number {
  return Math.min(Math.ceil(pause), MAX_DELAY_SECONDS);
}
