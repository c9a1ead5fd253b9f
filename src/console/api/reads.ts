import type { ApiPath } from "./path.ts";

/** Ends of the paths whose POST changes nothing. Only these POSTs are sent because a page was opened. */
const READS = [
  "/changes",
  "/count_by_status",
  "/estimate",
  "/history",
  "/namespaces",
  "/query",
  "/search",
  "/stats",
  "/validate",
  "/versions",
];

/** @throws Error for a path whose POST may change something */
export function assertRead(path: ApiPath): void {
  if (!READS.some((end) => path.endsWith(end)))
    throw new Error(`A POST to ${path} may change something`);
}
