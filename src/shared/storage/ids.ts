import { v7 } from "uuid";

/** Ordered by time, so a new row lands at the end of its index. */
export function newId(): string {
  return v7();
}
