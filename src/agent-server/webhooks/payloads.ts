/** Where the payload of a run's webhook lies until it is delivered or given up. */
export function payloadKey(place: { deployment_id: string; run_id: string }): string {
  return `${payloadPrefix(place.deployment_id)}${place.run_id}.json`;
}

export function payloadPrefix(deployment_id: string): string {
  return `webhooks/${deployment_id}/`;
}

/** The payload is JSON text of an object; the time is that of the attempt. */
export function withSentAt(payload: string, sent_at: Date): string {
  return `${payload.slice(0, -1)},"webhook_sent_at":"${sent_at.toISOString()}"}`;
}
