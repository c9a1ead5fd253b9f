/**
 * Returns the key of a payload in R2. The payload is deleted after its delivery, or with the log of a failed delivery.
 */
export function payloadKey(run: { deployment_id: string; run_id: string }): string {
  return `${payloadPrefix(run.deployment_id)}${run.run_id}.json`;
}

export function payloadPrefix(deployment_id: string): string {
  return `webhooks/${deployment_id}/`;
}

const encoder = new TextEncoder();

/**
 * Reads a payload, which is JSON text of an object, and adds the time of the attempt.
 * @returns `signed`, the text to sign: `signed_start`, then the body. `body` is a part of the same memory
 */
export async function readPayload(
  { body, size }: R2ObjectBody,
  signed_start: string,
  sent_at: Date,
): Promise<{ signed: Uint8Array<ArrayBuffer>; body: Uint8Array<ArrayBuffer> }> {
  const start = encoder.encode(signed_start);
  const end = encoder.encode(`,"webhook_sent_at":"${sent_at.toISOString()}"}`);
  const signed = new Uint8Array(start.length + size - 1 + end.length);
  signed.set(start);
  let at = start.length;
  for await (const chunk of body as ReadableStream<Uint8Array>) {
    signed.set(chunk, at);
    at += chunk.length;
  }
  // Replaces the brace that closes the object.
  signed.set(end, at - 1);
  return { signed, body: signed.subarray(start.length) };
}
