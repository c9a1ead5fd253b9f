import { v7 } from "uuid";

/** Returns a UUID of version 7. Its order is that of time, so a new row is added at the end of its index. */
export function newId(): string {
  return v7();
}
