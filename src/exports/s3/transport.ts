import { isS3Error, S3Error } from "./problem.ts";
import type { sender } from "./send.ts";
import type { Call } from "./signing.ts";
import { type StoredObject, toStoredObject } from "./uploads.ts";

export type Headers = Record<string, string>;

export type Transport = {
  once: ReturnType<typeof sender>;
  retry<T>(run: (attempt: number) => Promise<T>): Promise<T>;
  put_headers: Headers;
};

/** Returns the headers of a new object: those of the destination, overridden by `headers`. Names are in lower case. */
export function putHeaders(
  { put_headers }: Pick<Transport, "put_headers">,
  headers: Headers = {},
): Headers {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...put_headers, ...Object.fromEntries(named) };
}

/** @returns `null` when the object does not exist */
export async function headObject(transport: Transport, key: string): Promise<StoredObject | null> {
  const answer = await unless([404], () => send(transport, { method: "HEAD", key }));
  return answer === null ? null : toStoredObject(answer.headers);
}

export function send(transport: Transport, call: Call) {
  return transport.retry(() => transport.once(call));
}

/** @returns `null` when S3 answers one of the expected codes or statuses */
export async function unless<T>(
  expected: (string | number)[],
  run: () => Promise<T>,
): Promise<T | null> {
  try {
    return await run();
  } catch (error) {
    if (isS3Error(error, expected)) return null;
    throw error;
  }
}

/** @throws S3Error when the response lacks a value */
export function requireValue(value: string | null, name: string, status: number): string {
  if (value) return value;
  throw unexpected(`The response of the server has no ${name}.`, status);
}

export function unexpected(message: string, status: number): S3Error {
  const problem = { is_transient: false, retry_after_seconds: null };
  return new S3Error({ code: "UnexpectedAnswer", message, status, ...problem });
}
