import { isRecord } from "../../../shared/guards.ts";
import { isShallow } from "../../../shared/http/depth.ts";
import { JSON_BYTES, MANIFEST_STARS } from "../limits.ts";
import type { Manifest } from "../locks/install-tree.ts";

export type PackageManifest = Manifest & {
  type?: unknown;
  main?: unknown;
  module?: unknown;
  exports?: unknown;
  imports?: unknown;
  sideEffects?: unknown;
  os?: unknown;
  cpu?: unknown;
};

export function parseManifest(bytes: Uint8Array | null): PackageManifest | null {
  if (bytes === null || bytes.byteLength > JSON_BYTES.manifest) return null;
  try {
    const text = new TextDecoder().decode(bytes);
    const value: unknown = JSON.parse(text);
    const stars = text.split("*").length - 1;
    const isSafe = isShallow(value) && stars <= MANIFEST_STARS;
    return isRecord(value) && isSafe ? value : null;
  } catch {
    return null;
  }
}
