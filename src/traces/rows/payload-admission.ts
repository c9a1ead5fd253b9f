import { AppError } from "../../shared/errors.ts";
import { holdBody } from "../../shared/http/body.ts";
import { PAYLOADS } from "../changes.ts";
import { MAX_BODY_BYTES } from "../limits.ts";
import type { Pointers, TraceRunRow } from "./rows.ts";

/**
 * Loads the wanted payloads of runs from R2, once the isolate admits their bytes. The payloads of one run can come in
 * several requests, so together they can be larger than a request may be.
 * @param wanted names of payloads, `null` for all
 * @throws AppError 413 above the maximum size of a request, 503 when the isolate has no room within a minute
 */
export async function admitPayloads<T>(
  rows: Pick<TraceRunRow, "pointers">[],
  wanted: ReadonlySet<string> | null,
  load: () => Promise<T>,
): Promise<T> {
  const bytes = rows.reduce((sum, { pointers }) => sum + storedBytes(pointers, wanted), 0);
  if (bytes === 0) return load();
  if (bytes > MAX_BODY_BYTES) throw tooLarge(bytes);
  return holdBody(async (reserve) => {
    await reserve(bytes);
    return load();
  });
}

function storedBytes(text: string | null, wanted: ReadonlySet<string> | null): number {
  const pointers: Pointers = text ? JSON.parse(text) : {};
  const names = PAYLOADS.filter((name) => wanted === null || wanted.has(name));
  return names.reduce((sum, name) => sum + (pointers[name]?.bytes ?? 0), 0);
}

function tooLarge(bytes: number): AppError {
  const names = PAYLOADS.join(", ");
  const text = `The selected payloads have ${bytes} bytes, an answer at most ${MAX_BODY_BYTES}: select fewer of ${names} in a query of runs.`;
  return new AppError("too_large", text);
}
