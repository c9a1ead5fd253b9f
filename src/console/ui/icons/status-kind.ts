export type StatusKind =
  | "ok"
  | "failed"
  | "running"
  | "waiting"
  | "queued"
  | "idle"
  | "skipped"
  | "cancelled"
  | "timed-out"
  | "preview"
  | "canary"
  | "partial";
