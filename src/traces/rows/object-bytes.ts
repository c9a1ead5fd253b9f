import { PAYLOADS } from "../changes.ts";
import type { Pointers } from "./rows.ts";

/** Bytes of objects in R2. */
export type ObjectBytes = { payload_bytes: number; attachment_bytes: number };

export const NO_OBJECTS: ObjectBytes = { payload_bytes: 0, attachment_bytes: 0 };

/** Returns the bytes of a run's objects. Replaced payloads count: their objects stay until the run is deleted. */
export function objectBytesOf({ pointers }: { pointers: string | null }): ObjectBytes {
  if (pointers === null) return NO_OBJECTS;
  const { payloads, attachments, replaced } = parseObjects(pointers);
  return {
    payload_bytes: sumOf(payloads) + replacedBytes({ replaced }),
    attachment_bytes: sumOf(attachments),
  };
}

/** Returns the keys of the objects that a run names. */
export function keysOf(pointers: string | null): Set<string> {
  if (pointers === null) return new Set();
  const { payloads, attachments } = parseObjects(pointers);
  return new Set([...payloads, ...attachments].map(({ key }) => key));
}

function parseObjects(pointers: string) {
  const { attachments = {}, replaced, ...others }: Pointers = JSON.parse(pointers);
  const payloads = PAYLOADS.flatMap((name) => others[name] ?? []);
  return { payloads, attachments: Object.values(attachments), replaced };
}

/** Returns the bytes of replaced payloads, 0 without any, or where they were not counted (`true`). */
export function replacedBytes({ replaced }: Pick<Pointers, "replaced">): number {
  return typeof replaced === "number" ? replaced : 0;
}

function sumOf(objects: { bytes: number }[]): number {
  return objects.reduce((sum, { bytes }) => sum + bytes, 0);
}
