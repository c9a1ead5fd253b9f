/** Key of a payload in R2 until it is delivered or its log expires. */
export function payloadKey(run: { deployment_id: string; run_id: string }): string {
  return `${payloadPrefix(run.deployment_id)}${run.run_id}.json`;
}

export function payloadPrefix(deployment_id: string): string {
  return `webhooks/${deployment_id}/`;
}

/** The payload is JSON text of an object; the time is that of the attempt. */
export function withSentAt(payload: string, sent_at: Date): string {
  return `${payload.slice(0, -1)},"webhook_sent_at":"${sent_at.toISOString()}"}`;
}
