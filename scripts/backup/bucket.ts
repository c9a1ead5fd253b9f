// The objects of one prefix, with the retries of the exports' client.
import { S3Error } from "../../src/exports/s3/problem.ts";
import { withRetries } from "../../src/exports/s3/retries.ts";
import { sender } from "../../src/exports/s3/send.ts";
import type { Call } from "../../src/exports/s3/signing.ts";
import { readElements, readText } from "../../src/exports/s3/xml.ts";
import type { Location } from "./location.ts";

const ATTEMPT_MS = 120_000;
const LIMITS = { attempts: 6, base_ms: 200, max_delay_ms: 10_000, total_ms: 300_000 };
/** Larger than any object of a backup: the manifest of a million files has 200 MB. */
const MAX_OBJECT_BYTES = 1024 ** 3;

export type Bucket = ReturnType<typeof openBucket>;

export function openBucket({ target, prefix }: Location) {
  const once = sender(target, {
    // The operator's own choice of a server, which may be on this machine.
    policy: { allow_private: true },
    signal: undefined,
    attempt_ms: ATTEMPT_MS,
    now: Date.now,
  });
  const send = (call: Call) => withRetries({ limits: LIMITS }, undefined, () => once(call));
  return {
    async put(name: string, body: Uint8Array): Promise<void> {
      await send({ method: "PUT", key: prefix + name, body });
    },

    /** @returns `null` when the object does not exist */
    async get(name: string): Promise<Uint8Array | null> {
      try {
        const call: Call = { method: "GET", key: prefix + name, max_bytes: MAX_OBJECT_BYTES };
        return (await send(call)).bytes ?? null;
      } catch (error) {
        if (error instanceof S3Error && error.problem.code === "NoSuchKey") return null;
        throw error;
      }
    },

    async delete(name: string): Promise<void> {
      await send({ method: "DELETE", key: prefix + name });
    },

    /** Lists the names below a folder, in the order of their bytes. */
    async list(folder: string): Promise<string[]> {
      const names: string[] = [];
      let query: Record<string, string> = { "list-type": "2", prefix: prefix + folder };
      for (;;) {
        const { text } = await send({ method: "GET", key: "", query });
        for (const element of readElements(text, "Contents")) {
          names.push((readText(element, "Key") ?? "").slice(prefix.length));
        }
        const token = readText(text, "NextContinuationToken");
        if (readText(text, "IsTruncated") !== "true" || token === null) return names;
        query = { ...query, "continuation-token": token };
      }
    },
  };
}
