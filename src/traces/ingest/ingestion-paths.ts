export const OTLP_PATH = "/api/v1/otel/v1/traces";

/** Returns whether a request ingests runs: `body.ts` limits and decodes its body, and its errors are `IngestError`. */
export function isIngestion(method: string, path: string): boolean {
  if (method === "PATCH") return /^\/api\/v1\/runs\/[^/]+$/.test(path);
  return method === "POST" && /^\/api\/v1\/runs(\/batch|\/multipart)?$/.test(path);
}

/** Returns whether a request belongs to OTLP, which has its own errors and encodings. */
export function isOtlp(path: string): boolean {
  return path === OTLP_PATH;
}
